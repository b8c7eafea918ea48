/**
 * Files of real runs, damaged in 250 ways: by the disk, and by hands that know SQL. What is read from one is what was
 * saved, or an error that names the file; other runs are still listed; and nothing runs from what is damaged.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PawlError, type Store, sqliteStore } from 'pawl';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Driver, loadDriver } from '../../src/stores/sqlite-driver.ts';
import { playOf, playPerson } from '../snapshots/scenarios.ts';
import { type RecordedRun, recordedRuns, recordStore, worldOf } from '../snapshots/stored-runs.ts';
import { watchProcess } from './kit.ts';

watchProcess();

const pageBytes = 4_096;
const folder = mkdtempSync(join(tmpdir(), 'pawl-damaged-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const newPath = (): string => {
  made += 1;
  return join(folder, `${made}.db`);
};

let driver: Driver;
let whole: Buffer;
/** The same file while it is open, with a log that was not written back. */
let open: { readonly file: Buffer; readonly log: Buffer };
/** Another store of the same runs: its rows are whole, in their own file. */
let foreign: string;
/** By question, for the whole file. */
let expected: ReadonlyMap<string, string>;
/** Every state that a run was saved in. */
const saves = new Map<string, Set<string>>(recordedRuns.map(({ runId }) => [runId, new Set()]));

beforeAll(async () => {
  driver = await loadDriver();
  foreign = newPath();
  await fill(foreign, () => {});
  const path = newPath();
  await fill(path, () => {
    open = { file: readFileSync(path), log: readFileSync(`${path}-wal`) };
  });
  whole = readFileSync(path);
  expected = (await askAll(copyOf(whole))).answers;
});

async function fill(path: string, whenFilled: () => void): Promise<void> {
  const store = sqliteStore(path);
  const noting: Store = {
    ...store,
    save: async (steps) => {
      const refused = await store.save(steps);
      for (const { runId } of steps) saves.get(runId)?.add(JSON.stringify(await store.load(runId)));
      return refused;
    },
  };
  await recordStore(noting);
  whenFilled();
  await store.close();
}

function copyOf(bytes: Buffer): string {
  const path = newPath();
  writeFileSync(path, bytes, { mode: 0o600 });
  return path;
}

const refusal = 'refused';

interface Answers {
  readonly answers: ReadonlyMap<string, string>;
  readonly errors: readonly string[];
}

/** What a store says of all that is in it. Any error but one of ours fails the test. */
async function askAll(path: string): Promise<Answers> {
  const answers = new Map<string, string>();
  const errors: string[] = [];
  const store = sqliteStore(path);
  const ask = async (name: string, question: () => Promise<unknown>): Promise<void> => {
    try {
      answers.set(name, JSON.stringify(await question()));
    } catch (error) {
      if (!PawlError.is(error) || error.code !== 'store_failed') throw error;
      errors.push(error.message);
      answers.set(name, refusal);
    }
  };
  await ask('list', () => store.list());
  for (const { runId } of recordedRuns) {
    await ask(`load ${runId}`, () => store.load(runId));
    await ask(`steps ${runId}`, () => store.steps(runId));
    await ask(`turn ${runId}`, () => store.loadTurn(runId, 1));
  }
  await store.close().catch(() => undefined);
  return { answers, errors };
}

/** Resumes a run of a damaged file. Null when it went on, to the end that it always had. */
async function resumeIn(path: string, recorded: RecordedRun): Promise<string | null> {
  const store = sqliteStore(path);
  const world = worldOf(recorded);
  try {
    const run = await playOf(recorded.scenario, world, { store }).agent.resume(recorded.runId);
    await playPerson(run);
    const result = await run.result;
    if (result.error?.code === 'store_failed') return result.error.message;
    expect(result).toMatchObject({ status: recorded.ends, text: recorded.text });
    return null;
  } catch (error) {
    if (!PawlError.is(error)) throw error;
    expect(world).toEqual(worldOf(recorded));
    expect(['store_failed', 'unknown_run', 'snapshot_incompatible']).toContain(error.code);
    return error.message;
  } finally {
    await store.close().catch(() => undefined);
  }
}

/** Numbers from 0 up to a limit, the same ones for each seed. */
function numbersFrom(seed: number): (limit: number) => number {
  let state = seed * 48_271 + 11;
  return (limit) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
}

type Next = (limit: number) => number;

const pagesIn = (bytes: Buffer): number => bytes.length / pageBytes;

/** What SQLite keeps on a page: the first byte says it. */
function kindOfPage(bytes: Buffer, page: number): string {
  const first = bytes[page * pageBytes + (page === 0 ? 100 : 0)];
  const kinds = new Map([
    [2, 'inner index'],
    [5, 'inner table'],
    [10, 'index'],
    [13, 'table'],
  ]);
  return kinds.get(first ?? -1) ?? 'overflow or free';
}

function flipIn(bytes: Buffer, from: number, length: number, next: Next): Buffer {
  const at = from + next(length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << next(8));
  return bytes;
}

function sql(...statements: readonly string[]): (path: string) => void {
  return (path) => {
    const database = new driver.DatabaseSync(path);
    try {
      for (const statement of statements) database.exec(statement);
    } finally {
      database.close();
    }
  };
}

const tables = ['runs', 'begins', 'transcripts', 'messages', 'results', 'turns', 'steps', 'names'];

/** Columns by table, in the order of the file. */
function columnsOf(path: string): readonly (readonly [table: string, column: string])[] {
  const database = new driver.DatabaseSync(path);
  try {
    return tables.flatMap((table) =>
      database
        .prepare(`SELECT name FROM pragma_table_info('${table}')`)
        .all()
        .map((row) => [table, String((row as { name: unknown }).name)] as const),
    );
  } finally {
    database.close();
  }
}

/** Writes a value into a column of one row, past every checksum. */
function writeInto(path: string, value: string, next: Next): void {
  const columns = columnsOf(path);
  const [table, column] = columns[next(columns.length)] ?? ['runs', 'head'];
  const row = `rowid = (SELECT rowid FROM ${table} LIMIT 1 OFFSET ${next(3)})`;
  const where =
    table === 'names' ? `name = (SELECT name FROM names LIMIT 1 OFFSET ${next(3)})` : row;
  try {
    sql(`UPDATE ${table} SET ${column} = ${value} WHERE ${where}`)(path);
  } catch {
    // The column takes no such value: then nothing is damaged.
  }
}

const wrongValues = [
  'NULL',
  '-1',
  '9e300',
  `'x'`,
  `x'ff00ff'`,
  `'{"a":1}'`,
  '9007199254740993',
  `''`,
];

/** Rows of two places change places. */
function swapRows(path: string, next: Next): void {
  const pairs = [
    ['messages', 'message'],
    ['messages', 'sum'],
    ['steps', 'at'],
    ['steps', 'name'],
    ['runs', 'checkpoint'],
    ['runs', 'head'],
    ['runs', 'headSum'],
    ['begins', 'settings'],
    ['turns', 'change'],
    ['transcripts', 'sum'],
  ] as const;
  const [table, column] = pairs[next(pairs.length)] ?? pairs[0];
  const key =
    table === 'runs' || table === 'transcripts' ? 'number' : table === 'begins' ? 'run' : 'id';
  const at = (offset: number): string =>
    `(SELECT ${key} FROM ${table} ORDER BY ${key} LIMIT 1 OFFSET ${offset})`;
  const [one, other] = [next(4), 4 + next(4)];
  sql(
    `CREATE TEMP TABLE kept AS SELECT ${column} AS value FROM ${table} WHERE ${key} = ${at(one)}`,
    `UPDATE ${table} SET ${column} = (SELECT ${column} FROM ${table} WHERE ${key} = ${at(other)}) WHERE ${key} = ${at(one)}`,
    `UPDATE ${table} SET ${column} = (SELECT value FROM kept) WHERE ${key} = ${at(other)}`,
  )(path);
}

/** Rows of another store, with the checksums of that one. */
function bringForeign(path: string, next: Next): void {
  const table = ['runs', 'begins', 'messages', 'turns', 'steps', 'transcripts'][next(6)] ?? 'runs';
  sql(
    `ATTACH '${foreign}' AS other`,
    `INSERT OR REPLACE INTO ${table} SELECT * FROM other.${table} LIMIT ${1 + next(5)}`,
    'DETACH other',
  )(path);
}

/** Any row but that of a run itself: without it, the run is what a deleted one is. */
const deleteRow = (path: string, next: Next): void => {
  const table = tables[1 + next(tables.length - 2)] ?? 'begins';
  sql(`DELETE FROM ${table} WHERE rowid = (SELECT rowid FROM ${table} LIMIT 1 OFFSET ${next(6)})`)(
    path,
  );
};

type Damage = (next: Next, seed: number) => string;

const byBytes =
  (change: (bytes: Buffer, next: Next, seed: number) => Buffer): Damage =>
  (next, seed) =>
    copyOf(change(Buffer.from(whole), next, seed));

const byHand =
  (change: (path: string, next: Next) => void): Damage =>
  (next) => {
    const path = copyOf(whole);
    change(path, next);
    return path;
  };

const byLog =
  (change: (log: Buffer, next: Next) => Buffer): Damage =>
  (next) => {
    const path = copyOf(open.file);
    writeFileSync(`${path}-wal`, change(Buffer.from(open.log), next), { mode: 0o600 });
    return path;
  };

const pageFrom = (bytes: Buffer, page: number): Buffer =>
  bytes.subarray(page * pageBytes, (page + 1) * pageBytes);

const damages: readonly (readonly [name: string, files: number, damage: Damage])[] = [
  [
    'a bit flipped on each page',
    50,
    byBytes((bytes, next, seed) =>
      flipIn(bytes, ((seed - 1) % pagesIn(bytes)) * pageBytes, pageBytes, next),
    ),
  ],
  ['a bit flipped in the header', 20, byBytes((bytes, next) => flipIn(bytes, 0, 160, next))],
  ['cut off', 20, byBytes((bytes, next) => bytes.subarray(0, next(bytes.length)))],
  [
    'a page zeroed',
    30,
    byBytes((bytes, next) => {
      pageFrom(bytes, next(pagesIn(bytes))).fill(0);
      return bytes;
    }),
  ],
  [
    'two pages swapped',
    20,
    byBytes((bytes, next) => {
      const [one, other] = [next(pagesIn(bytes)), next(pagesIn(bytes))];
      pageFrom(bytes, one).set(pageFrom(whole, other));
      pageFrom(bytes, other).set(pageFrom(whole, one));
      return bytes;
    }),
  ],
  [
    'a wrong value in a column',
    40,
    byHand((path, next) => writeInto(path, wrongValues[next(wrongValues.length)] ?? 'NULL', next)),
  ],
  ['two rows swapped', 20, byHand(swapRows)],
  ['rows of another store', 20, byHand(bringForeign)],
  ['a row deleted', 20, byHand(deleteRow)],
];

const logDamages: readonly (readonly [name: string, files: number, damage: Damage])[] = [
  ['a bit flipped in the log', 20, byLog((log, next) => flipIn(log, 0, log.length, next))],
  ['the log cut off', 15, byLog((log, next) => log.subarray(0, next(log.length)))],
  [
    'a stretch of the log zeroed',
    10,
    byLog((log, next) => {
      const from = next(log.length);
      log.subarray(from, from + 4_200).fill(0);
      return log;
    }),
  ],
];

/** Each run is listed as it was, or a run is named as damaged. */
function expectListed(answer: string, where: string): void {
  if (answer === refusal) return;
  type List = Awaited<ReturnType<Store['list']>>;
  const { runs, damaged } = JSON.parse(answer) as List;
  const all = JSON.parse(expected.get('list') ?? '') as List;
  for (const run of all.runs) {
    const found = runs.find(({ runId }) => runId === run.runId);
    if (found) expect(found, where).toEqual(run);
    else expect(damaged.length, `${where}: ${run.runId}`).toBeGreaterThan(0);
  }
  expect(runs.length, where).toBeLessThanOrEqual(all.runs.length);
}

describe('a damaged store of real runs', () => {
  it('has pages of every kind', () => {
    const kinds = Array.from({ length: pagesIn(whole) }, (_, page) => kindOfPage(whole, page));
    expect(new Set(kinds).size).toBeGreaterThanOrEqual(3);
    expect(kinds.length).toBeLessThanOrEqual(60);
  });

  it.each(damages)(
    '%s (%i files): nothing wrong is taken for right',
    async (name, files, damage) => {
      let refused = 0;
      for (let seed = 1; seed <= files; seed += 1) {
        const where = `${name}, seed ${seed}`;
        const path = damage(numbersFrom(seed), seed);
        const { answers, errors } = await askAll(path);
        if (errors.length > 0) refused += 1;
        for (const error of errors) expect(error, where).toContain(path);
        for (const [question, answer] of answers) {
          if (question === 'list') expectListed(answer, where);
          else expect([refusal, expected.get(question)], `${where}: ${question}`).toContain(answer);
        }
        await expectNothingRuns(path, answers, seed, where);
      }
      console.log(`damaged stores: ${name}, seeds 1 to ${files}: ${refused} noticed`);
      expect(refused).toBeGreaterThanOrEqual(files / 10);
    },
  );

  it('is read whole from a file whose log was not written back', async () => {
    const { answers } = await askAll(byLog((log) => log)(numbersFrom(1), 1));
    expect(answers).toEqual(expected);
  });

  it.each([1, 2, 3, 4, 5])('is read whole beside a stray journal (seed %i)', async (seed) => {
    const next = numbersFrom(seed);
    const path = copyOf(whole);
    const bytes = Uint8Array.from({ length: 1_000 }, () => 1 + next(255));
    writeFileSync(`${path}-journal`, bytes);
    const { answers } = await askAll(path);
    expect(answers).toEqual(expected);
  });

  it('is read whole when a process died in the middle of a change that SQLite rolls back', async () => {
    const path = copyOf(whole);
    const database = new driver.DatabaseSync(path);
    database.exec('PRAGMA journal_mode = DELETE');
    database.exec('PRAGMA cache_size = 1');
    database.exec('BEGIN IMMEDIATE');
    for (const table of ['runs', 'messages', 'steps']) {
      database.exec(`UPDATE ${table} SET ${table === 'runs' ? 'headSum' : 'sum'} = 0`);
    }
    const died = copyOf(readFileSync(path));
    writeFileSync(`${died}-journal`, readFileSync(`${path}-journal`));
    database.exec('ROLLBACK');
    database.close();
    expect(readFileSync(died).equals(whole)).toBe(false);
    const { answers } = await askAll(died);
    expect(answers).toEqual(expected);
  });

  it.each(logDamages)('%s (%i files): what is read was saved', async (name, files, damage) => {
    let behind = 0;
    let read = 0;
    for (let seed = 1; seed <= files; seed += 1) {
      const where = `${name}, seed ${seed}`;
      const path = damage(numbersFrom(seed), seed);
      const { answers } = await askAll(path);
      // A log that breaks off is what a crash leaves: the steps before hold, what comes after never was.
      for (const [question, answer] of answers) {
        const runId = question.slice('load '.length);
        if (!question.startsWith('load ') || answer === refusal || answer === 'null') continue;
        expect(saves.get(runId)?.has(answer), `${where}: ${question}`).toBe(true);
        read += 1;
      }
      if (answers.get('list') !== expected.get('list')) behind += 1;
    }
    console.log(
      `damaged stores: ${name}, seeds 1 to ${files}: ${behind} set back, ${read} runs read`,
    );
    expect(behind).toBeGreaterThanOrEqual(files / 10);
    expect(read).toBeGreaterThanOrEqual(files);
  });

  /** One run of the file, another one each time; one that can't be read if there is one. */
  async function expectNothingRuns(
    path: string,
    answers: ReadonlyMap<string, string>,
    seed: number,
    where: string,
  ): Promise<void> {
    const unread = recordedRuns.find(({ runId }) => answers.get(`load ${runId}`) === refusal);
    const recorded = unread ?? recordedRuns[seed % recordedRuns.length];
    if (!recorded || (!unread && seed % 4 !== 0)) return;
    const why = await resumeIn(path, recorded);
    if (unread) expect(why, `${where}: ${recorded.runId}`).toContain(path);
  }
});
