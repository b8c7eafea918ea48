/** Texts that many rows share are kept once, and named by number: states with causes, shapes of objects. */
import type { Json, JsonObject } from '../core/json.ts';
import { outlineOf, withValues } from './json-outline.ts';
import type { Connection } from './sqlite-connection.ts';

const knownNumbers = new WeakMap<Connection, Map<string, number>>();

/** After a transaction that came to nothing: the names that it added are gone. */
export const forgetNames = (connection: Connection): void => {
  knownNumbers.delete(connection);
};

/** The number of a text. One that is new is added. */
export function numberOf(connection: Connection, name: string): number {
  const known = knownNumbers.get(connection) ?? new Map<string, number>();
  knownNumbers.set(connection, known);
  const number = known.get(name) ?? readNumber(connection, name) ?? addName(connection, name);
  known.set(name, number);
  return number;
}

function readNumber(connection: Connection, name: string): number | null {
  const row = connection.get('SELECT number FROM names WHERE name = ?', name);
  return row === undefined ? null : Number(row.number);
}

function addName(connection: Connection, name: string): number {
  const next = 'SELECT coalesce(max(number), 0) + 1 AS number FROM names';
  const number = Number(connection.get(next)?.number);
  connection.run('INSERT INTO names VALUES (?, ?)', name, number);
  return number;
}

/** The texts by their numbers. */
export const readNames = (connection: Connection): ReadonlyMap<number, string> =>
  new Map(
    connection
      .all('SELECT number, name FROM names')
      .map(({ number, name }) => [Number(number), String(name)]),
  );

/** An object as a row has it, and the text that its checksum covers: the shape too, which stands elsewhere. */
export interface Packed {
  readonly row: readonly Json[];
  readonly sealed: string;
}

export function pack(connection: Connection, object: JsonObject): Packed {
  const { shape, values } = outlineOf(object);
  return { row: [numberOf(connection, shape), ...values], sealed: seal(shape, values) };
}

const seal = (shape: string, values: readonly Json[]): string =>
  `${shape} ${JSON.stringify(values)}`;

/** Null: no row that `pack` made. */
export function unpack(
  names: ReadonlyMap<number, string>,
  row: unknown,
): { readonly object: JsonObject; readonly sealed: string } | null {
  if (!Array.isArray(row)) return null;
  const [number, ...values] = row as readonly Json[];
  const shape = names.get(Number(number));
  if (!shape?.startsWith('{')) return null;
  return { object: withValues({ shape, values }), sealed: seal(shape, values) };
}
