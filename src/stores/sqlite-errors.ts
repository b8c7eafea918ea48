import { PawlError } from '../core/errors.ts';

interface Meaning {
  readonly name: string;
  readonly advice: string;
}

const restore = 'The file is damaged; restore it from a copy.';

/** By SQLite's primary result codes. */
const meanings: ReadonlyMap<number, Meaning> = new Map([
  [5, { name: 'SQLITE_BUSY', advice: 'Another process is using the file; try again.' }],
  [6, { name: 'SQLITE_LOCKED', advice: 'Another connection is using the file; try again.' }],
  [8, { name: 'SQLITE_READONLY', advice: 'Make the file and its folder writable.' }],
  [10, { name: 'SQLITE_IOERR', advice: 'Look after the disk, then resume the runs.' }],
  [11, { name: 'SQLITE_CORRUPT', advice: restore }],
  [13, { name: 'SQLITE_FULL', advice: 'Free some disk space, then resume the runs.' }],
  [14, { name: 'SQLITE_CANTOPEN', advice: 'Make the file and its folder readable and writable.' }],
  [26, { name: 'SQLITE_NOTADB', advice: 'Name another file, or restore it from a copy.' }],
]);

/** SQLite's primary result code, null when it is not SQLite's error. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null;
}

export const isBusy = (error: unknown): boolean => [5, 6].includes(sqliteCode(error) ?? 0);

/** What went wrong with which file, what to do. An error of ours stays as it is. */
export function storeError(path: string, doing: string, error: unknown): PawlError {
  if (PawlError.is(error)) return error;
  const { message } = error instanceof Error ? error : { message: String(error) };
  const code = sqliteCode(error);
  const meaning = code === null ? undefined : meanings.get(code);
  const name = code === null ? '' : ` (${meaning?.name ?? 'SQLite'} ${extendedCode(error)})`;
  const advice = meaning === undefined ? '' : ` ${meaning.advice}`;
  return new PawlError('store_failed', `${path}: can't ${doing}: ${message}${name}.${advice}`, {
    cause: error,
  });
}

/** The package has the extended code under a name of its own; Node has it as `errcode`. */
function extendedCode(error: unknown): number | string {
  const { errcode, sqliteExtendedCode = errcode } = error as {
    readonly errcode?: number;
    readonly sqliteExtendedCode?: number;
  };
  return sqliteExtendedCode ?? '';
}
