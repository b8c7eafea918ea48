import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { PawlError } from '../../src/core/errors.ts';
import { sqliteStore } from '../../src/stores/sqlite.ts';
import { type Driver, loadDriver } from '../../src/stores/sqlite-driver.ts';
import type { Store } from '../../src/stores/store.ts';
import { fillStore, pathMaker, runIds } from './sqlite-files.ts';

const newPath = pathMaker();
const pageBytes = 4_096;
let driver: Driver;
let whole: Buffer;
let expected: ReadonlyMap<string, string>;

beforeAll(async () => {
  driver = await loadDriver();
  const path = newPath();
  const store = sqliteStore(path);
  await fillStore(store);
  await store.close();
  whole = readFileSync(path);
  expected = await askAll(copyOf(whole));
});

function copyOf(bytes: Buffer): string {
  const path = newPath();
  writeFileSync(path, bytes, { mode: 0o600 });
  return path;
}

const questions: readonly (readonly [string, (store: Store) => Promise<unknown>])[] = [
  ...runIds.flatMap((id): (readonly [string, (store: Store) => Promise<unknown>])[] => [
    [`load ${id}`, (store) => store.load(id)],
    [`steps ${id}`, (store) => store.steps(id)],
    [`posted ${id}`, (store) => store.posted([id])],
    ...[1, 2, 3, 4].map(
      (turn) => [`turn ${turn} ${id}`, (store: Store) => store.loadTurn(id, turn)] as const,
    ),
  ]),
];

const refusal = 'refused';

/** Answers by question; `refusal` for an error of ours. Any other error fails the test. */
async function askAll(path: string): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  const store = sqliteStore(path);
  const ask = async (question: () => Promise<unknown>): Promise<string> => {
    try {
      return JSON.stringify(await question());
    } catch (error) {
      if (PawlError.is(error) && error.code === 'store_failed') return refusal;
      throw error;
    }
  };
  for (const [name, question] of questions) answers.set(name, await ask(() => question(store)));
  answers.set('list', await ask(() => store.list()));
  await store.close().catch(() => undefined);
  return answers;
}

/** Numbers from 0 up to a limit, always the same ones. */
function numbersFrom(seed: number): (limit: number) => number {
  let state = seed * 7_919 + 17;
  return (limit) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
}

type Damage = (bytes: Buffer, next: (limit: number) => number) => Buffer;
const pages = (bytes: Buffer): number => bytes.length / pageBytes;
const pageAt = (bytes: Buffer, page: number): Buffer =>
  bytes.subarray(page * pageBytes, (page + 1) * pageBytes);

const damages: readonly (readonly [string, number, Damage])[] = [
  [
    'one bit flipped',
    60,
    (bytes, next) => {
      const at = next(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << next(8));
      return bytes;
    },
  ],
  [
    'sixteen bytes overwritten',
    30,
    (bytes, next) => {
      const at = next(bytes.length - 16);
      for (let index = 0; index < 16; index += 1) bytes[at + index] = next(256);
      return bytes;
    },
  ],
  [
    'a page zeroed',
    40,
    (bytes, next) => {
      pageAt(bytes, next(pages(bytes))).fill(0);
      return bytes;
    },
  ],
  [
    'a page overwritten by another one',
    40,
    (bytes, next) => {
      pageAt(bytes, next(pages(bytes))).set(pageAt(whole, next(pages(bytes))));
      return bytes;
    },
  ],
  ['cut off', 30, (bytes, next) => bytes.subarray(0, next(bytes.length))],
];

describe('a damaged store', () => {
  it.each(damages)(
    '%s: nothing wrong is taken for right (%i files)',
    async (kind, count, damage) => {
      let noticed = 0;
      for (let seed = 1; seed <= count; seed += 1) {
        const bytes = damage(Buffer.from(whole), numbersFrom(seed));
        const answers = await askAll(copyOf(bytes));
        if ([...answers.values()].includes(refusal)) noticed += 1;
        for (const [name] of questions) {
          // Events that are lost with their whole page are lost: whoever sent them sees that nothing came of it.
          const lost = name.startsWith('posted') && kind.includes('page') ? '[]' : refusal;
          const allowed = [refusal, lost, expected.get(name)];
          expect(allowed, `seed ${seed}: ${name}`).toContain(answers.get(name));
        }
        checkList(answers.get('list') ?? '', seed);
      }
      expect(noticed).toBeGreaterThan(count / 10);
    },
  );

  /** Every run is listed as it was, or named as damaged. */
  function checkList(answer: string, seed: number): void {
    if (answer === refusal) return;
    const { runs, damaged } = JSON.parse(answer) as Awaited<ReturnType<Store['list']>>;
    const all = JSON.parse(expected.get('list') ?? '') as { readonly runs: typeof runs };
    for (const run of all.runs) {
      const found = runs.find(({ runId }) => runId === run.runId);
      if (found !== undefined) expect(found).toEqual(run);
      else expect(damaged.length, `seed ${seed}: ${run.runId}`).toBeGreaterThan(0);
    }
    expect(runs.length).toBeLessThanOrEqual(all.runs.length);
  }

  /** One row of one run changed in a way that SQLite can't notice, and what the error names. */
  const changes: readonly (readonly [string, (store: Store) => Promise<unknown>, string])[] = [
    [
      `UPDATE runs SET checkpoint = '{"mark":"two/7"}' WHERE id = '"two"'`,
      (store) => store.load('two'),
      'checkpoint of run "two"',
    ],
    [
      `UPDATE runs SET status = 'completed' WHERE id = '"two"'`,
      (store) => store.load('two'),
      'row of run "two"',
    ],
    [
      `UPDATE begins SET settings = '{}' WHERE run = 2`,
      (store) => store.load('two'),
      'settings of run "two"',
    ],
    [
      `UPDATE messages SET message = replace(message, 'summary of two', 'summary of one')`,
      (store) => store.load('two'),
      'message 0 of run "two"',
    ],
    [
      `DELETE FROM messages WHERE message LIKE '%two 4%'`,
      (store) => store.load('two'),
      'message 1 of run "two"',
    ],
    [
      `UPDATE results SET result = replace(result, 'two a', 'two c')`,
      (store) => store.load('two'),
      'result 0 of run "two"',
    ],
    [
      `UPDATE steps SET turn = 9 WHERE id = 2 * 16777216 + 3`,
      (store) => store.steps('two'),
      'step 3 of run "two"',
    ],
    [
      `DELETE FROM steps WHERE id = 2 * 16777216 + 6`,
      (store) => store.steps('two'),
      'step 6 of run "two"',
    ],
    [
      `UPDATE turns SET length = 1 WHERE id = 2 * 16777216 + 3`,
      (store) => store.loadTurn('two', 3),
      'turn 3 of run "two"',
    ],
    [
      `DELETE FROM turns WHERE id = 2 * 16777216 + 3`,
      (store) => store.loadTurn('two', 3),
      'list of turns of run "two"',
    ],
    [
      `UPDATE posted SET event = '{"type":"bye"}' WHERE run = '"two"'`,
      (store) => store.posted(['two']),
      'posted event 2 of run "two"',
    ],
  ];

  it.each(changes)(
    '%s: the error names the place, other runs are fine',
    async (sql, ask, place) => {
      const path = copyOf(whole);
      const database = new driver.DatabaseSync(path);
      database.exec(sql);
      database.close();
      const store = sqliteStore(path);
      const refused = { code: 'store_failed', message: expect.stringContaining(place) };
      await expect(ask(store)).rejects.toMatchObject(refused);
      await expect(ask(store)).rejects.toThrow(path);
      const { runs, damaged } = await store.list();
      expect([...runs.map(({ runId }) => runId), ...damaged].sort()).toEqual([...runIds].sort());
      for (const id of runIds.filter((other) => other !== 'two')) {
        expect(JSON.stringify(await store.load(id))).toBe(expected.get(`load ${id}`));
      }
      await store.delete('two');
      expect((await store.list()).runs.length).toBe(5);
      await store.close();
    },
  );
});
