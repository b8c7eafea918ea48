import {
  checkQuery,
  cutPage,
  isWanted,
  type PlacedRun,
  pageOf,
  type RunListing,
  type RunPage,
} from './run-page.ts';
import type { Row } from './sqlite-driver.ts';
import { sqliteCode } from './sqlite-errors.ts';
import { fromJson, type StoreFile } from './sqlite-rows.ts';
import {
  isWholeRow,
  readRunRow,
  runColumns,
  summaryOf,
  tagLabel,
  waitLabel,
} from './sqlite-run-row.ts';
import type { RunQuery } from './store.ts';

const find = `SELECT ${runColumns} FROM runs
  WHERE (updated, number) < (?, ?) AND updated < ?
    AND (? IS NULL OR status IN (SELECT value FROM json_each(?)))
    AND (? IS NULL OR agent = ?)
    AND (? IS NULL OR EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?))
    AND (? IS NULL OR EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?))
  ORDER BY updated DESC, number DESC LIMIT ?`;

/** A page of runs. When a row or an index is damaged, looks at each run by itself. */
export function listRuns(file: StoreFile, query: RunQuery): RunListing {
  const page = checkQuery(query);
  const found = isIndexed(file) ? findPage(file, query, page) : null;
  if (found !== null) return cutPage(found, page.limit);
  const { runs, damaged } = salvage(file);
  return { ...pageOf(runs, query), damaged };
}

/** Whether both indexes have as many runs: one that lost some would hide them from every list. */
function isIndexed({ connection }: StoreFile): boolean {
  const counts = unlessDamaged(() => connection.get(countBoth));
  return counts !== null && counts?.ids === counts?.updates;
}

/** Null when what was found can't be trusted. */
function findPage(file: StoreFile, query: RunQuery, page: RunPage): PlacedRun[] | null {
  const { status, agent, tag, waitsFor, updatedBeforeMs } = query;
  const statuses = status === undefined ? null : JSON.stringify(status);
  const agentText = agent === undefined ? null : JSON.stringify(agent);
  const tagText = tag === undefined ? null : tagLabel(tag);
  const waitText = waitsFor === undefined ? null : waitLabel(waitsFor);
  const rows = unlessDamaged(() =>
    file.connection.all(
      find,
      page.after.updatedAtMs,
      page.after.number,
      updatedBeforeMs ?? Number.MAX_SAFE_INTEGER,
      ...[statuses, statuses, agentText, agentText, tagText, tagText, waitText, waitText],
      page.limit + 1,
    ),
  );
  const runs = rows?.map((row) => readPlaced(file, row)) ?? [null];
  const isSound = runs.every((run) => run !== null && isWanted(run.summary, query));
  return isSound ? runs.filter((run) => run !== null) : null;
}

function readPlaced(file: StoreFile, row: Row): PlacedRun | null {
  if (!isWholeRow(file, row)) return null;
  const run = readRunRow(row);
  const summary = summaryOf(run, fromJson(row.id));
  return { number: run.number, updatedAtMs: run.updated, summary };
}

/** Every run that can be read, and the names of those that can't. */
function salvage(file: StoreFile): { runs: PlacedRun[]; damaged: string[] } {
  const runs: PlacedRun[] = [];
  const damaged: string[] = [];
  const select = `SELECT ${runColumns} FROM runs WHERE number = ?`;
  for (const [number, name] of indexedRuns(file) ?? guessedRuns(file)) {
    const row = unlessDamaged(() => file.connection.get(select, number));
    const run = row ? readPlaced(file, row) : null;
    if (run !== null) runs.push(run);
    else if (name !== null || row !== undefined) damaged.push(name ?? `run number ${number}`);
  }
  return { runs, damaged };
}

type RunNames = ReadonlyMap<number, string | null>;

const byId = 'SELECT number, id FROM runs INDEXED BY sqlite_autoindex_runs_1';
const countBoth = `SELECT
  (SELECT count(*) FROM runs INDEXED BY sqlite_autoindex_runs_1 WHERE id >= '') AS ids,
  (SELECT count(*) FROM runs INDEXED BY runs_by_update WHERE updated < 9007199254740991) AS updates`;
const byUpdate = 'SELECT number FROM runs INDEXED BY runs_by_update';

/** Runs by number, with their ids, as far as the indexes know them; null when neither can be read. */
function indexedRuns({ connection }: StoreFile): RunNames | null {
  const named = unlessDamaged(() => connection.all(byId));
  const numbered = unlessDamaged(() => connection.all(byUpdate));
  if (named === null && numbered === null) return null;
  const names = new Map<number, string>();
  for (const { number } of numbered ?? []) names.set(number as number, `run number ${number}`);
  for (const { number, id } of named ?? []) names.set(number as number, readName(id));
  return names;
}

/** Most runs that are looked for one by one. */
const mostTried = 1_000_000;

function guessedRuns({ connection }: StoreFile): RunNames {
  const last = unlessDamaged(() => connection.get('SELECT max(number) AS last FROM runs'))?.last;
  const tried = typeof last === 'number' ? Math.min(last, mostTried) : mostTried;
  return new Map(Array.from({ length: tried }, (_, index) => [index + 1, null]));
}

function readName(id: unknown): string {
  try {
    return fromJson(id);
  } catch {
    return String(id);
  }
}

const damageCodes = [1, 11, 26];

/** Null when SQLite finds the place damaged. Other errors, of the disk say, are told. */
function unlessDamaged<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch (error) {
    // What SQLite can't read may also be a number too large for JavaScript, which is no error of SQLite's.
    const code = sqliteCode(error);
    if (code === null || damageCodes.includes(code)) return null;
    throw error;
  }
}
