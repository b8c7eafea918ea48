import type { Database, Driver, Row, SqlValue } from './sqlite-driver.ts';

/** One open file. Texts of statements are constants of this package: whatever is foreign is a value. */
export interface Connection {
  /** Gives how many rows changed. */
  run(sql: string, ...values: SqlValue[]): number;
  get(sql: string, ...values: SqlValue[]): Row | undefined;
  all(sql: string, ...values: SqlValue[]): Row[];
  exec(sql: string): void;
  /** All of the body or nothing of it. Waits for other writers only as long as `busy_timeout` says. */
  transaction<Value>(body: () => Value): Value;
  /** Reads the file as it is at one moment, whatever others write meanwhile. */
  view<Value>(body: () => Value): Value;
  close(): void;
}

export function connect(
  { DatabaseSync }: Driver,
  path: string,
  options: { readonly readOnly?: boolean } = {},
): Connection {
  const database = new DatabaseSync(path, options);
  const statements = new Map<string, ReturnType<Database['prepare']>>();
  const prepared = (sql: string) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    run: (sql, ...values) => Number(prepared(sql).run(...values).changes),
    get: (sql, ...values) => prepared(sql).get(...values) as Row | undefined,
    all: (sql, ...values) => prepared(sql).all(...values) as Row[],
    exec: (sql) => database.exec(sql),
    transaction: (body) => within(database, 'BEGIN IMMEDIATE', body),
    view: (body) => within(database, 'BEGIN', body),
    close() {
      statements.clear();
      database.close();
    },
  };
}

function within<Value>(database: Database, begin: string, body: () => Value): Value {
  database.exec(begin);
  try {
    const value = body();
    database.exec('COMMIT');
    return value;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // SQLite has rolled back by itself, as it does after some errors. The first error is the one to tell.
  }
}
