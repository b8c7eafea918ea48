import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { checkFields, checkWhole } from '../core/check.ts';
import { invalidInput, PawlError } from '../core/errors.ts';
import type { Connection } from './sqlite-connection.ts';
import { type Driver, loadDriver } from './sqlite-driver.ts';
import { isBusy, storeError } from './sqlite-errors.ts';
import { postEvent, readPosted, releaseLeases, takeLease } from './sqlite-leases.ts';
import { listRuns } from './sqlite-list.ts';
import { forgetNames } from './sqlite-names.ts';
import { openStoreFile } from './sqlite-open.ts';
import { checkPlace, isInPlace } from './sqlite-place.ts';
import { loadRun, loadTurn, readSteps } from './sqlite-read.ts';
import { deleteRun, pruneTurns } from './sqlite-remove.ts';
import type { StoreFile } from './sqlite-rows.ts';
import { saveSteps } from './sqlite-save.ts';
import type { Store } from './store.ts';

export interface SqliteStoreOptions {
  /** How long to wait for other processes that write to the file, in ms. Default 5,000. */
  readonly busyTimeoutMs?: number;
}

export interface SqliteStore extends Store {
  /** Gives the room of what was deleted back to the disk. Writes the whole file anew. */
  vacuum(): Promise<void>;
}

/**
 * Keeps runs in one SQLite file, which is made at the first use, for this user alone (0600), with its folder. A save is
 * on the disk once its promise resolves. Several processes may use one file of a local disk at the same time. Needs Node
 * 22.13, or the package `@photostructure/sqlite`. Methods reject with a PawlError `store_failed` that names the file.
 * @throws PawlError `invalid_input`
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): SqliteStore {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw invalidInput('path', 'the path of a file', path);
  }
  checkFields('options', options, ['busyTimeoutMs']);
  checkWhole('busyTimeoutMs', options.busyTimeoutMs, 0);
  return storeAt(resolve(path), options, loadDriver);
}

/** The store on a driver of the caller's choice. */
export function storeAt(
  path: string,
  { busyTimeoutMs = 5_000 }: SqliteStoreOptions,
  load: () => Promise<Driver>,
): SqliteStore {
  let file: StoreFile | null = null;
  let isClosed = false;
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other, so that a save which waits for another process is not overtaken by the next one. */
  function inTurn<Value>(doing: string, body: () => Value | Promise<Value>): Promise<Value> {
    const next = last.then(async () => {
      try {
        return await body();
      } catch (error) {
        throw storeError(path, doing, error);
      }
    });
    last = next.catch(() => undefined);
    return next;
  }

  /** Tries again while another process holds the file; in between, this one goes on. */
  async function whenFree<Value>(body: () => Value): Promise<Value> {
    const untilMs = performance.now() + busyTimeoutMs;
    for (;;) {
      try {
        return body();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= untilMs) throw error;
        await wait(10);
      }
    }
  }

  async function opened(): Promise<StoreFile> {
    if (isClosed) throw new PawlError('store_failed', `${path}: the store is closed.`);
    if (file !== null) return file;
    const driver = await load();
    try {
      file = await whenFree(() => openStoreFile(driver, path));
    } catch (error) {
      throw isBusy(error) ? heldByOther(path, error) : error;
    }
    return file;
  }

  const use = <Value>(doing: string, body: (file: StoreFile) => Value): Promise<Value> =>
    inTurn(doing, async () => {
      const store = await opened();
      return whenFree(() => body(store));
    });

  const read = <Value>(doing: string, body: (file: StoreFile) => Value): Promise<Value> =>
    use(doing, (store) => store.connection.view(() => body(store)));

  const change = <Value>(doing: string, body: (file: StoreFile) => Value): Promise<Value> =>
    use(doing, (store) => {
      checkPlace(path, store.place);
      const value = commit(store, body);
      checkPlace(path, store.place);
      return value;
    });

  return {
    save: (steps) => change('save', (store) => saveSteps(store, steps)),
    load: (runId) => read('load a run', (store) => loadRun(store, runId)),
    loadTurn: (runId, turn) => read('load a turn', (store) => loadTurn(store, runId, turn)),
    steps: (runId) => read('read the steps', (store) => readSteps(store, runId)),
    list: (query = {}) => read('list runs', (store) => listRuns(store, query)),
    lease: (runId, owner, untilMs, nowMs) =>
      change('take a lease', (store) => takeLease(store, runId, owner, untilMs, nowMs)),
    release: (runIds, owner) =>
      change('release leases', (store) => releaseLeases(store, runIds, owner)),
    post: (runId, event) => change('post an event', (store) => postEvent(store, runId, event)),
    posted: (runIds) => read('read posted events', (store) => readPosted(store, runIds)),
    delete: (runId) => change('delete a run', (store) => deleteRun(store, runId)),
    prune: (limits) => change('prune runs', (store) => pruneTurns(store, limits)),
    vacuum: () => use('vacuum', vacuum),
    close: () =>
      inTurn('write the log back at close', () => {
        const closing = file;
        isClosed = true;
        file = null;
        if (closing !== null) closeFile(closing);
      }),
  };
}

function commit<Value>(store: StoreFile, body: (file: StoreFile) => Value): Value {
  try {
    return store.connection.transaction(() => body(store));
  } catch (error) {
    forgetNames(store.connection);
    throw error;
  }
}

function heldByOther(path: string, cause: unknown): PawlError {
  const message = `${path}: another process or store holds the file. One whose SQLite is older than 3.51.3 keeps it for itself, since such an SQLite may damage a file that two connections use: close it, or give it a newer Node or @photostructure/sqlite.`;
  return new PawlError('store_failed', message, { cause });
}

function vacuum({ path, place, connection }: StoreFile): void {
  checkPlace(path, place);
  connection.exec('VACUUM');
  connection.get('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Some drivers keep the file open in secret until their statements are collected, and with it the log's two files. */
function removeLog(connection: Connection): void {
  try {
    connection.get('PRAGMA journal_mode = DELETE');
  } catch (error) {
    // Others use the file: the last of them removes it.
    if (!isBusy(error)) throw error;
  }
}

/** SQLite itself would keep to itself that it could not write the log back. Nothing is lost then, but people must know. */
function closeFile({ path, place, connection }: StoreFile): void {
  try {
    // The log beside the path may be that of another store by now.
    if (!isInPlace(path, place)) return;
    // Others that use the file keep the log busy, which is no failure; waiting for them would be.
    connection.exec('PRAGMA busy_timeout = 0');
    connection.get('PRAGMA wal_checkpoint(TRUNCATE)');
    removeLog(connection);
  } finally {
    connection.close();
  }
}
