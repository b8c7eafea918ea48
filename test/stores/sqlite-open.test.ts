import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sqliteStore, storeAt } from '../../src/stores/sqlite.ts';
import { type Driver, loadDriver, mayShareFiles } from '../../src/stores/sqlite-driver.ts';
import { stepsOf } from '../../src/testing/store-steps.ts';
import { hashOf, pathMaker } from './sqlite-files.ts';

const newPath = pathMaker();
let driver: Driver;
beforeAll(async () => {
  driver = await loadDriver();
});

async function madeStore(): Promise<string> {
  const path = newPath();
  const store = sqliteStore(path);
  await store.save([stepsOf('a').next()]);
  await store.close();
  return path;
}

/** Statements by somebody who is not Pawl. */
function alter(path: string, sql: string): void {
  const database = new driver.DatabaseSync(path);
  database.exec(sql);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}

/** What is found where a store should be, and what the error says of it. */
const strangers: readonly (readonly [string, (path: string) => void, string])[] = [
  ['an empty file', (path) => writeFileSync(path, ''), 'an empty file'],
  ['a text', (path) => writeFileSync(path, 'hello '.repeat(999)), 'not an SQLite database'],
  ['a short text', (path) => writeFileSync(path, 'hello'), 'not an SQLite database'],
  ['a folder', (path) => mkdirSync(path), 'a folder'],
  [
    'a database of something else',
    (path) => alter(path, 'CREATE TABLE notes (text TEXT)'),
    'an SQLite database of something else',
  ],
];

const changes: readonly (readonly [string, string, string])[] = [
  ['of a newer format', 'PRAGMA user_version = 2', 'the newer format 2'],
  ['of no known format', 'PRAGMA user_version = 0', 'format 0'],
  ['without our mark', 'PRAGMA application_id = 7', 'application id 7'],
  ['with a trigger', 'CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END', 'other tables'],
  ['with a view', 'CREATE VIEW v AS SELECT 1', 'other tables'],
  ['without a table', 'DROP TABLE steps', 'other tables'],
  ['with another salt', "UPDATE store SET salt = 'x'", 'another one'],
  ['without its first row', 'DELETE FROM store', 'another one'],
];

describe('opening a store', () => {
  it.each(strangers)('refuses %s and leaves it as it is', async (_, make, found) => {
    const path = newPath();
    make(path);
    const before = found === 'a folder' ? null : hashOf(path);
    const store = sqliteStore(path);
    const refusal = { code: 'store_failed', message: expect.stringContaining(found) };
    await expect(store.list()).rejects.toMatchObject(refusal);
    await expect(store.save([stepsOf('a').next()])).rejects.toThrow(`${path}: expected `);
    await store.close();
    if (before !== null) expect(hashOf(path)).toBe(before);
  });

  it.each(changes)('refuses a store %s and leaves it as it is', async (_, sql, found) => {
    const path = await madeStore();
    alter(path, sql);
    const before = hashOf(path);
    const store = sqliteStore(path);
    const refusal = { code: 'store_failed', message: expect.stringContaining(found) };
    await expect(store.list()).rejects.toMatchObject(refusal);
    await store.close();
    expect(hashOf(path)).toBe(before);
  });

  it('tries again at the next use', async () => {
    const path = newPath();
    writeFileSync(path, '');
    const store = sqliteStore(path);
    await expect(store.list()).rejects.toThrow('an empty file');
    rmSync(path);
    expect(await store.list()).toEqual({ runs: [], next: null, damaged: [] });
    await store.close();
  });

  it('makes the folders on the way', async () => {
    const store = sqliteStore(join(newPath(), 'deeper', 'runs.db'));
    expect((await store.list()).runs).toEqual([]);
    await store.close();
  });

  it('does not take rows of another store for its own', async () => {
    const [path, other] = [await madeStore(), await madeStore()];
    alter(
      path,
      `ATTACH '${other}' AS other; DELETE FROM runs; INSERT INTO runs SELECT * FROM other.runs; DETACH other`,
    );
    const store = sqliteStore(path);
    expect(await store.list()).toEqual({ runs: [], next: null, damaged: ['a'] });
    await expect(store.load('a')).rejects.toThrow('the row of run "a" is damaged');
    await store.close();
  });
});

describe('an SQLite older than 3.51.3', () => {
  it.each([
    ['3.53.0', true],
    ['3.51.3', true],
    ['3.51.2', false],
    ['3.45.1', false],
    ['4.0.0', true],
    ['nonsense', false],
  ])('version %s may share a file: %s', (version, may) => {
    expect(mayShareFiles(version)).toBe(may);
  });

  /** Looks at a copy: the packaged driver keeps a lock of a closed connection until its statements are collected. */
  const oldDriver = async (): Promise<Driver> => ({
    version: '3.45.1',
    DatabaseSync: class extends driver.DatabaseSync {
      constructor(path: string, options: { readonly readOnly?: boolean } = {}) {
        if (options.readOnly) copyFileSync(path, `${path}.copy`);
        super(options.readOnly ? `${path}.copy` : path, options);
      }
    },
  });

  it('holds the file alone: no other store gets in', async () => {
    const path = await freshCopy();
    const first = storeAt(path, { busyTimeoutMs: 0 }, oldDriver);
    await first.save([stepsOf('b').next()]);
    const second = storeAt(path, { busyTimeoutMs: 0 }, oldDriver);
    await expect(second.list()).rejects.toThrow('SQLite 3.45.1 may damage a file that two');
    const newer = storeAt(path, { busyTimeoutMs: 0 }, loadDriver);
    await expect(newer.list()).rejects.toThrow('older than 3.51.3 keeps it for itself');
    expect((await first.list()).runs.length).toBe(2);
    for (const store of [first, second, newer]) await store.close();
  });

  it('does not come in where another store is', async () => {
    const path = await freshCopy();
    const first = sqliteStore(path);
    await first.list();
    const second = storeAt(path, { busyTimeoutMs: 0 }, oldDriver);
    const refusal = { code: 'store_failed', message: expect.stringContaining('only user') };
    await expect(second.list()).rejects.toMatchObject(refusal);
    await first.save([stepsOf('b').next()]);
    expect((await first.list()).runs.length).toBe(2);
    for (const store of [first, second]) await store.close();
  });

  /** A store that no connection of this process has had open. */
  async function freshCopy(): Promise<string> {
    const path = newPath();
    writeFileSync(path, readFileSync(await madeStore()));
    return path;
  }
});
