/** What becomes of a store whose file is taken away while it is open. */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type SqliteStore, sqliteStore, storeAt } from '../../src/stores/sqlite.ts';
import { type Driver, loadDriver } from '../../src/stores/sqlite-driver.ts';
import { says, stepsOf } from '../../src/testing/store-steps.ts';
import { hashOf, pathMaker } from './sqlite-files.ts';

const newPath = pathMaker();

const remove = (path: string): void => {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
};

/** Another store, with a run `other`, takes the place of the file. */
async function replace(path: string): Promise<void> {
  const from = newPath();
  const store = sqliteStore(from);
  await store.save([stepsOf('other').next()]);
  await store.close();
  remove(path);
  renameSync(from, path);
}

async function openStore() {
  const path = newPath();
  const store = sqliteStore(path);
  const run = stepsOf('a');
  await store.save([run.next({ messages: says('one') })]);
  return { path, store, run };
}

const writes: readonly [string, (store: SqliteStore) => Promise<unknown>][] = [
  ['save', (store) => store.save([stepsOf('b').next()])],
  ['lease', (store) => store.lease('b', 'one', 100, 0)],
  ['release', (store) => store.release(['a'], 'one')],
  ['post', (store) => store.post('a', { type: 'hello' })],
  ['delete', (store) => store.delete('a')],
  ['prune', (store) => store.prune({ endedBeforeMs: 0, keepTurns: 0 })],
  ['vacuum', (store) => store.vacuum()],
];

describe('a store file that is removed while the store is open', () => {
  it.each(writes)('makes %s fail, which says what to do', async (_, write) => {
    const { path, store } = await openStore();
    remove(path);
    await expect(write(store)).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringMatching(/found none: it was removed or replaced.*resume the runs/),
    });
    await expect(write(store)).rejects.toThrow(path);
    await store.close();
    expect(existsSync(path)).toBe(false);
  });

  it('is gone for a save that was on its way', async () => {
    const path = newPath();
    const driver = await loadDriver();
    let isToGo = false;
    const removing = async (): Promise<Driver> => ({
      ...driver,
      DatabaseSync: class extends driver.DatabaseSync {
        override exec(sql: string) {
          super.exec(sql);
          if (isToGo && sql === 'COMMIT') remove(path);
        }
      },
    });
    const store = storeAt(path, {}, removing);
    const run = stepsOf('a');
    await store.save([run.next()]);
    isToGo = true;
    await expect(store.save([run.next()])).rejects.toThrow('removed or replaced');
    await store.close();
  });

  it('can be moved back, and the store goes on', async () => {
    const { path, store, run } = await openStore();
    const second = run.next({ messages: says('two') });
    renameSync(path, `${path}.away`);
    await expect(store.save([second])).rejects.toThrow('removed or replaced');
    renameSync(`${path}.away`, path);
    expect(await store.save([second])).toEqual([]);
    await store.close();
    const again = sqliteStore(path);
    expect((await again.load('a'))?.messages).toEqual(says('one', 'two'));
    await again.close();
  });

  it('is not made anew beside the log that it left', async () => {
    const { path, store } = await openStore();
    rmSync(path);
    const log = readFileSync(`${path}-wal`);
    const again = sqliteStore(path);
    await expect(again.list()).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringMatching(/only the log of one.*move it back, or remove .*-wal too/),
    });
    expect(existsSync(path)).toBe(false);
    expect(readFileSync(`${path}-wal`).equals(log)).toBe(true);
    await again.close();
    await store.close();
    remove(path);
    const third = sqliteStore(path);
    expect((await third.list()).runs).toEqual([]);
    await third.close();
  });
});

describe('a store file that is replaced while the store is open', () => {
  it.each(writes)('makes %s fail, and the new file is left alone', async (_, write) => {
    const { path, store } = await openStore();
    await replace(path);
    const before = hashOf(path);
    await expect(write(store)).rejects.toThrow(/found another one: it was removed or replaced/);
    await store.close();
    expect(hashOf(path)).toBe(before);
  });

  it('keeps its log when the store of the old one is closed', async () => {
    const { path, store } = await openStore();
    await replace(path);
    const other = sqliteStore(path);
    await other.save([stepsOf('b').next()]);
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(true);
    const third = sqliteStore(path);
    expect((await third.list()).runs.map(({ runId }) => runId).sort()).toEqual(['b', 'other']);
    await third.close();
    await other.close();
  });
});
