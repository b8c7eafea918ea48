/** Finds an SQLite to work with: the one in Node, else the same API as a package. */
import { PawlError } from '../core/errors.ts';

export type SqlValue = string | number | null;
export type Row = { readonly [column: string]: unknown };

interface Statement {
  run(...values: SqlValue[]): { readonly changes: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

type OpenDatabase = new (path: string, options?: { readonly readOnly?: boolean }) => Database;

export interface Driver {
  readonly DatabaseSync: OpenDatabase;
  /** Of SQLite itself: `3.53.0`. */
  readonly version: string;
}

/** @throws PawlError `store_failed` when there is none */
export async function loadDriver(): Promise<Driver> {
  const builtIn = builtInDriver();
  if (builtIn !== null && mayShareFiles(builtIn.version)) return builtIn;
  const found = (await packagedDriver()) ?? builtIn;
  if (found !== null) return found;
  throw new PawlError(
    'store_failed',
    `The SQLite store needs Node 22.13 or newer, or the package @photostructure/sqlite; this is Node ${process.version} without it. Run "npm install @photostructure/sqlite", or use a newer Node.`,
  );
}

/**
 * Whether several connections may use one file. Before 3.51.3, SQLite can damage a file in WAL mode when one of them
 * writes while another resets the log.
 */
export function mayShareFiles(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return major * 1_000_000 + minor * 1_000 + patch >= 3_051_003;
}

function builtInDriver(): Driver | null {
  // Known since Node 22; asked for by name, so that older ones and their types don't mind.
  const module = withoutWarning(() => process.getBuiltinModule('node:sqlite'));
  return module === undefined ? null : withVersion(module as Pick<Driver, 'DatabaseSync'>);
}

async function packagedDriver(): Promise<Driver | null> {
  try {
    const { DatabaseSync } = await import('@photostructure/sqlite');
    return withVersion({ DatabaseSync: DatabaseSync as unknown as OpenDatabase });
  } catch (error) {
    if (isMissing(error)) return null;
    const reason = error instanceof Error ? error.message : String(error);
    throw new PawlError('store_failed', `@photostructure/sqlite can't be loaded: ${reason}`, {
      cause: error,
    });
  }
}

function withVersion({ DatabaseSync }: Pick<Driver, 'DatabaseSync'>): Driver {
  const database = new DatabaseSync(':memory:');
  try {
    const row = database.prepare('SELECT sqlite_version() AS version').get() as Row;
    return { DatabaseSync, version: String(row.version) };
  } finally {
    database.close();
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

/** Node warns that its SQLite is experimental; the store is tested against it. Other warnings pass. */
function withoutWarning<Value>(load: () => Value): Value {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: []) => {
    if (!String(warning).includes('SQLite')) emitWarning.call(process, warning, ...rest);
  }) as typeof emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
