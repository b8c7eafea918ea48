/** The file that keeps the runs of the command line. */
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { invalidInput } from '../core/errors.ts';
import { memoryStore } from '../stores/memory.ts';
import type { Store } from '../stores/store.ts';

export const defaultStoreFile = '.pawl/runs.db';

/** Which file, as it was named, and the folder that the name starts from. */
export interface StorePlace {
  readonly file: string;
  readonly folder: string;
}

/**
 * Opens the store, and makes it when there is none: for commands that start a run.
 * @throws PawlError `store_failed` when the file is no store, a newer one, read-only, damaged or held by others
 */
async function openStore({ file, folder }: StorePlace): Promise<Store> {
  const { sqliteStore } = await import('../stores/sqlite.ts');
  const store = sqliteStore(resolve(folder, file));
  try {
    // The file is opened at the first use, and what is wrong with it has to be said before anything happens.
    await store.list({ limit: 1 });
    return store;
  } catch (error) {
    await store.close().catch(() => {});
    throw error;
  }
}

/**
 * The same when nobody has to have named a file: without an SQLite on this machine, runs are then kept in memory.
 * @throws PawlError like `openStore`
 */
export async function openOwnStore(
  place: StorePlace,
): Promise<{ readonly store: Store; readonly isKept: boolean }> {
  const { loadDriver } = await import('../stores/sqlite-driver.ts');
  const hasDriver = await loadDriver().then(
    () => true,
    () => false,
  );
  if (place.file !== defaultStoreFile || hasDriver) {
    return { store: await openStore(place), isKept: true };
  }
  return { store: memoryStore(), isKept: false };
}

/** The same for commands that look at runs: never makes a file. @throws PawlError also `invalid_input` */
export async function openKnownStore(place: StorePlace): Promise<Store> {
  const path = resolve(place.folder, place.file);
  await access(path).catch(() => {
    throw invalidInput(
      '--store',
      `a file that exists (none at ${path}; pawl run makes one)`,
      place.file,
    );
  });
  return openStore(place);
}

/** Runs a body with the store, and closes it whatever happens. A failure of the body is the one to tell. */
export async function withStore<Value>(
  place: StorePlace,
  body: (store: Store) => Promise<Value>,
): Promise<Value> {
  const store = await openKnownStore(place);
  let value: Value;
  try {
    value = await body(store);
  } catch (error) {
    await store.close().catch(() => {});
    throw error;
  }
  await store.close();
  return value;
}
