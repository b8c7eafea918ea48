import { setImmediate } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { sqliteStore, storeAt } from '../../src/stores/sqlite.ts';
import { type Driver, loadDriver } from '../../src/stores/sqlite-driver.ts';
import { says, stepsOf } from '../../src/testing/store-steps.ts';
import { pathMaker } from './sqlite-files.ts';

const newPath = pathMaker();
let driver: Driver;
beforeAll(async () => {
  driver = await loadDriver();
});

describe('a full disk', () => {
  /** A file may have 40 pages: what SQLite says then is what it says when the disk is full. */
  const smallDisk = async (): Promise<Driver> => ({
    ...driver,
    DatabaseSync: class extends driver.DatabaseSync {
      constructor(path: string, options: { readonly readOnly?: boolean } = {}) {
        super(path, options);
        this.exec('PRAGMA max_page_count = 40');
      }
    },
  });

  it('fails the save as a whole, says so, and leaves the store as it was', async () => {
    const path = newPath();
    const store = storeAt(path, {}, smallDisk);
    const run = stepsOf('a');
    await store.save([run.next({ messages: says('one') })]);
    const big = stepsOf('big').next({ messages: says('x'.repeat(500_000)) });
    const second = run.next({ messages: says('two') });
    const full = store.save([second, big]);
    await expect(full).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringMatching(/can't save: .*SQLITE_FULL 13.*Free some disk space/),
    });
    await expect(full).rejects.toThrow(path);
    expect((await store.load('a'))?.messages).toEqual(says('one'));
    expect(await store.load('big')).toBeNull();
    expect(await store.save([second])).toEqual([]);
    await store.close();
  });
});

describe('another writer', () => {
  async function heldStore(busyTimeoutMs: number) {
    const path = newPath();
    const store = sqliteStore(path, { busyTimeoutMs });
    await store.save([stepsOf('a').next()]);
    const other = new driver.DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    return { store, other };
  }

  it('is waited for, and later saves are not saved before earlier ones', async () => {
    const { store, other } = await heldStore(5_000);
    const run = stepsOf('b');
    const saves = [store.save([run.next()]), store.save([run.next()])];
    await setImmediate();
    other.exec('COMMIT');
    expect((await Promise.all(saves)).flat()).toEqual([]);
    expect((await store.load('b'))?.saveVersion).toBe(2);
    other.close();
    await store.close();
  });

  it('does not keep readers waiting', async () => {
    const { store, other } = await heldStore(0);
    expect((await store.load('a'))?.saveVersion).toBe(1);
    other.exec('COMMIT');
    other.close();
    await store.close();
  });

  it('that takes too long fails the save', async () => {
    const { store, other } = await heldStore(0);
    const refusal = { code: 'store_failed', message: expect.stringContaining('SQLITE_BUSY') };
    await expect(store.save([stepsOf('b').next()])).rejects.toMatchObject(refusal);
    other.exec('COMMIT');
    expect(await store.save([stepsOf('b').next()])).toEqual([]);
    other.close();
    await store.close();
  });
});

describe('closing', () => {
  it('reports that the log could not be written back, and releases the file all the same', async () => {
    const path = newPath();
    const failing = async (): Promise<Driver> => ({
      ...driver,
      DatabaseSync: class extends driver.DatabaseSync {
        override prepare(sql: string) {
          if (!sql.includes('wal_checkpoint')) return super.prepare(sql);
          throw Object.assign(new Error('disk I/O error'), { errcode: 266 });
        }
      },
    });
    const store = storeAt(path, {}, failing);
    await store.save([stepsOf('a').next()]);
    await expect(store.close()).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining("can't write the log back at close: disk I/O error"),
    });
    await expect(store.close()).resolves.toBeUndefined();
    const again = sqliteStore(path);
    expect((await again.load('a'))?.saveVersion).toBe(1);
    await again.close();
  });

  it('is no failure while others use the file', async () => {
    const path = newPath();
    const [one, two] = [sqliteStore(path), sqliteStore(path)];
    await one.save([stepsOf('a').next()]);
    await two.list();
    await expect(one.close()).resolves.toBeUndefined();
    await expect(two.close()).resolves.toBeUndefined();
  });
});
