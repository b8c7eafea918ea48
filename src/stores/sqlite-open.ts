/** Opens a store's file, or makes it. Looks before it writes: a file that is refused stays as it is. */
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { PawlError } from '../core/errors.ts';
import { type Connection, connect } from './sqlite-connection.ts';
import { type Driver, mayShareFiles } from './sqlite-driver.ts';
import { isBusy, sqliteCode, storeError } from './sqlite-errors.ts';
import { checkPlace, placeOf } from './sqlite-place.ts';
import { checksum, type StoreFile } from './sqlite-rows.ts';
import { applicationId, formatVersion, schema } from './sqlite-schema.ts';

/** How long a statement blocks this process while another one writes. Longer waits are the caller's, between tries. */
const busyTimeoutMs = 50;

/** @throws PawlError `store_failed`; an error of SQLite when the file is busy */
export function openStoreFile(driver: Driver, path: string): StoreFile {
  if (sizeOf(path) === null) {
    checkNoLog(path);
    create(driver, path);
  }
  checkAccess(path);
  const place = placeOf(path);
  if (place === null) throw refused(path, 'a Pawl store', 'no file', 'It was removed just now.');
  const salt = inspectWhole(driver, path);
  const connection = connect(driver, path);
  try {
    prepare(driver, connection, path);
    checkPlace(path, place);
    return { path, place, salt, connection };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function refused(path: string, expected: string, found: string, advice: string): PawlError {
  const message = `${path}: expected ${expected}, found ${found}. ${advice} The file was not touched.`;
  return new PawlError('store_failed', message);
}

const otherName = 'Name another file for the store.';

/** Null when there is no such file. */
function sizeOf(path: string): number | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (!found.isFile()) throw refused(path, 'a file', 'a folder or a device', otherName);
  if (found.size > 0) return found.size;
  // A store that was cut off at nothing must not pass for a new one.
  throw refused(path, 'a Pawl store', 'an empty file', 'Remove it, or restore it from a copy.');
}

/** SQLite would take what a removed store left in its log for the log of the new one. */
function checkNoLog(path: string): void {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  // With its store, when another process makes it at this moment.
  if (log === undefined || log.size === 0 || sizeOf(path) !== null) return;
  const advice = `The store was removed without its log: move it back, or remove ${path}-wal too.`;
  throw refused(path, 'a Pawl store', 'only the log of one', advice);
}

/** Made under another name and put in place whole, so nobody ever sees half of it. */
function create(driver: Driver, path: string): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`;
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    fill(driver, draft);
    linkSync(draft, path);
    syncFolder(folder);
  } catch (error) {
    // Another process was faster: its file is as good.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function fill(driver: Driver, path: string): void {
  const connection = connect(driver, path);
  try {
    connection.exec('PRAGMA synchronous = FULL');
    connection.transaction(() => {
      connection.exec(`PRAGMA application_id = ${applicationId}`);
      connection.exec(`PRAGMA user_version = ${formatVersion}`);
      for (const statement of schema) connection.exec(statement);
      const salt = randomBytes(8).toString('hex');
      connection.run('INSERT INTO store VALUES (?, ?, 0)', salt, checksum(salt, 'store'));
    });
  } finally {
    connection.close();
  }
}

function syncFolder(folder: string): void {
  if (process.platform === 'win32') return; // There a folder can't be opened, nor need be.
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** SQLite would open what it can't write to, and complain later, at the first save. */
function checkAccess(path: string): void {
  for (const place of [path, dirname(path)]) {
    try {
      accessSync(place, constants.R_OK | constants.W_OK);
    } catch {
      const what = place === path ? 'file' : 'folder';
      const advice = `Make the ${what} readable and writable for this user, or copy the store.`;
      throw refused(path, `a ${what} to read and write`, 'one that is read-only', advice);
    }
  }
}

/** A file that a process died over, while it changed its mode, is mended first: that takes a connection that may write. */
function inspectWhole(driver: Driver, path: string): string {
  try {
    return inspect(driver, path);
  } catch (error) {
    if (!isUnfinished(error) || !bearsOurMark(path)) throw error;
  }
  rollBack(driver, path);
  return inspect(driver, path);
}

/** SQLite has a journal to roll back, and only reads: SQLITE_READONLY. */
const isUnfinished = (error: unknown): boolean =>
  error instanceof Error && sqliteCode(error.cause) === 8;

/** The application id, where SQLite's file format has it. */
function bearsOurMark(path: string): boolean {
  const mark = Buffer.alloc(4);
  const descriptor = openSync(path, 'r');
  try {
    return readSync(descriptor, mark, 0, 4, 68) === 4 && mark.readUInt32BE() === applicationId;
  } finally {
    closeSync(descriptor);
  }
}

function rollBack(driver: Driver, path: string): void {
  const connection = connect(driver, path);
  try {
    connection.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    connection.get('SELECT count(*) FROM sqlite_schema');
  } catch (error) {
    if (isBusy(error)) throw error;
    throw storeError(path, 'roll back what a process left unfinished', error);
  } finally {
    connection.close();
  }
}

/** Reads through a connection that can't write. Gives the store's salt. */
function inspect(driver: Driver, path: string): string {
  const connection = connect(driver, path, { readOnly: true });
  try {
    connection.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    checkMarks(connection, path);
    checkTables(connection, path);
    return readSalt(connection, path);
  } catch (error) {
    if (PawlError.is(error) || isBusy(error)) throw error;
    if (sqliteCode(error) === 26) {
      throw refused(path, 'a Pawl store', 'a file that is not an SQLite database', otherName);
    }
    throw storeError(path, 'read the store', error);
  } finally {
    connection.close();
  }
}

function checkMarks(connection: Connection, path: string): void {
  const mark = connection.get('PRAGMA application_id')?.application_id;
  const version = connection.get('PRAGMA user_version')?.user_version;
  if (mark !== applicationId) {
    const found = `an SQLite database of something else (application id ${mark})`;
    throw refused(path, `a Pawl store (application id ${applicationId})`, found, otherName);
  }
  if (version === formatVersion) return;
  const isNewer = typeof version === 'number' && version > formatVersion;
  const advice = isNewer ? 'Update Pawl, or name another file.' : 'Restore it from a copy.';
  const found = isNewer ? `the newer format ${version}` : `format ${version}`;
  throw refused(path, `a Pawl store of format ${formatVersion}`, found, advice);
}

/** Also finds triggers, views and the like that somebody added, and tables that point to one another's pages. */
function checkTables(connection: Connection, path: string): void {
  const rows = connection.all(
    "SELECT sql, rootpage FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
  );
  const found = rows.map(({ sql }) => sql).sort();
  const pages = new Set(rows.map(({ rootpage }) => rootpage));
  const expected = [...schema].sort();
  const isWhole =
    found.length === expected.length && expected.every((sql, index) => sql === found[index]);
  if (isWhole && pages.size === rows.length) return;
  const advice = 'It was changed or damaged; restore it from a copy.';
  throw refused(path, `the tables of format ${formatVersion}`, 'other tables', advice);
}

function readSalt(connection: Connection, path: string): string {
  const rows = connection.all('SELECT salt, sum FROM store');
  const salt = String(rows[0]?.salt);
  if (rows.length === 1 && rows[0]?.sum === checksum(salt, 'store')) return salt;
  const advice = 'It is damaged; restore it from a copy.';
  throw refused(path, "the store's first row as it was written", 'another one', advice);
}

function prepare(driver: Driver, connection: Connection, path: string): void {
  connection.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  connection.exec('PRAGMA trusted_schema = OFF');
  connection.exec('PRAGMA cell_size_check = ON');
  if (!mayShareFiles(driver.version)) holdAlone(driver, connection, path);
  const mode = connection.get('PRAGMA journal_mode = WAL')?.journal_mode;
  if (mode !== 'wal') {
    const advice = 'Put it on a local disk: network file systems have no shared memory.';
    throw refused(path, 'a file system that allows WAL', `journal mode ${mode}`, advice);
  }
  connection.exec('PRAGMA synchronous = FULL');
  connection.exec('PRAGMA journal_size_limit = 8388608');
}

/** Keeps SQLite's own lock on the file until it is closed: no other connection gets in, whatever its version. */
function holdAlone({ version }: Driver, connection: Connection, path: string): void {
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE');
    connection.get('PRAGMA journal_mode = WAL');
    connection.exec('BEGIN EXCLUSIVE');
    connection.exec('COMMIT');
  } catch (error) {
    if (!isBusy(error)) throw error;
    throw refused(
      path,
      'to be its only user',
      'another process or store that has it open',
      `SQLite ${version} may damage a file that two connections use (fixed in 3.51.3): close the other one, or use a newer Node, or install @photostructure/sqlite.`,
    );
  }
}
