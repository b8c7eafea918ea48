import type { ToolResult } from '../core/message.ts';
import type { RunSettings } from '../core/run-context.ts';
import { applyDifference, type Difference } from './json-difference.ts';
import { readNames, unpack } from './sqlite-names.ts';
import {
  checksum,
  damaged,
  firstKey,
  fromJson,
  keyOf,
  lastKey,
  positionIn,
  type StoreFile,
} from './sqlite-rows.ts';
import { findRun } from './sqlite-run-row.ts';
import { readStart } from './sqlite-save.ts';
import { readMessages } from './sqlite-transcript.ts';
import type { SavedRun, SavedTurn, StepRecord } from './store.ts';

export function loadRun(file: StoreFile, runId: string): SavedRun | null {
  const row = findRun(file, runId);
  if (row === null) return null;
  return {
    runId,
    saveVersion: row.version,
    settings: readSettings(file, runId, row.number),
    checkpoint: fromJson(row.checkpoint),
    generation: row.generation,
    messages: readMessages(file, runId, row.transcript, row.length),
    results: readResults(file, runId, row.number, row.results),
    head: row.head,
    forkOf: row.origin.forkOf,
  };
}

function readSettings(file: StoreFile, runId: string, number: number): RunSettings {
  const find = 'SELECT settings, settingsSum FROM begins WHERE run = ?';
  const { settings, settingsSum } = file.connection.get(find, number) ?? {};
  if (settingsSum === checksum(file.salt, 'settings', number, settings as string)) {
    return fromJson(settings);
  }
  throw damaged(file.path, runId, 'settings');
}

function readResults(
  { connection, salt, path }: StoreFile,
  runId: string,
  number: number,
  count: number,
): readonly ToolResult[] {
  const find = 'SELECT id, result, sum FROM results WHERE id BETWEEN ? AND ? ORDER BY id';
  const rows = connection.all(find, firstKey(number), lastKey(number));
  const results = rows.map(({ id, result, sum }, index): ToolResult => {
    const isWhole = sum === checksum(salt, 'result', id as number, result as string);
    if (!isWhole || id !== keyOf(number, index)) throw damaged(path, runId, `result ${index}`);
    return fromJson(result);
  });
  if (results.length === count) return results;
  throw damaged(path, runId, 'results of the open batch');
}

export function loadTurn(file: StoreFile, runId: string, turn: number): SavedTurn | null {
  const run = findRun(file, runId);
  if (run === null || !Number.isSafeInteger(turn) || turn < 0) return null;
  const id = keyOf(run.number, turn);
  const row = file.connection.get(`${selectTurns} WHERE id = ?`, id) as TurnRow | undefined;
  if (row === undefined) return absentTurn(file, runId, run.number, id);
  const start = readStart(file, runId, run.number);
  const change = changeIn(file, readNames(file.connection), row);
  if (change === null || start === null) throw damaged(file.path, runId, `turn ${turn}`);
  const { transcript, generation, length } = row;
  return {
    turn,
    generation,
    length,
    context: applyDifference(start, change) as SavedTurn['context'],
    settings: readSettings(file, runId, run.number),
    messages: readMessages(file, runId, transcript, length),
  };
}

interface TurnRow {
  readonly id: number;
  readonly transcript: number;
  readonly generation: number;
  readonly length: number;
  readonly change: string;
  readonly sum: number;
}

const selectTurns = 'SELECT id, transcript, generation, length, change, sum FROM turns';

/** Null when the row is damaged. */
function changeIn(
  { salt }: StoreFile,
  names: ReadonlyMap<number, string>,
  { id, transcript, generation, length, change, sum }: TurnRow,
): Difference | null {
  const packed = unpack(names, parsed(change));
  const place = [id, transcript, generation, length] as const;
  return packed && sum === checksum(salt, 'turn', ...place, packed.sealed) ? packed.object : null;
}

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A turn that is not found may be one whose row is lost: then the others are too few, or it is among them. */
function absentTurn(file: StoreFile, runId: string, number: number, id: number): null {
  const { connection, path } = file;
  const select = `${selectTurns} WHERE id BETWEEN ? AND ?`;
  const rows = connection.all(select, firstKey(number), lastKey(number)) as unknown as TurnRow[];
  const expected = connection.get('SELECT turns FROM runs WHERE number = ?', number)?.turns;
  const names = readNames(connection);
  const isWhole = rows.every((row) => row.id !== id && changeIn(file, names, row) !== null);
  if (isWhole && rows.length === expected) return null;
  throw damaged(path, runId, 'list of turns');
}

export function readSteps(file: StoreFile, runId: string): readonly StepRecord[] {
  const run = findRun(file, runId);
  if (run === null) return [];
  const find =
    'SELECT id, at, turn, input, output, cost, active, name, events, sum FROM steps WHERE id BETWEEN ? AND ? ORDER BY id';
  const names = readNames(file.connection);
  const rows = file.connection.all(find, firstKey(run.number), lastKey(run.number));
  const records = rows.map((row, index) => {
    const record = readRecord(file, names, row as unknown as StepRow);
    if (record?.saveVersion === index + 1) return record;
    throw damaged(file.path, runId, `step ${index + 1}`);
  });
  if (records.length === run.version) return records;
  throw damaged(file.path, runId, `step ${records.length + 1}`);
}

interface StepRow {
  readonly id: number;
  readonly at: number;
  readonly turn: number;
  readonly input: number;
  readonly output: number;
  readonly cost: number;
  readonly active: number;
  readonly name: number;
  readonly events: string;
  readonly sum: number;
}

/** Null when the row is damaged. */
function readRecord(
  { salt }: StoreFile,
  names: ReadonlyMap<number, string>,
  { id, at, turn, input, output, cost, active, sum, ...row }: StepRow,
): StepRecord | null {
  const name = names.get(row.name);
  const rows = parsed(row.events);
  const events = Array.isArray(rows) ? rows.map((event) => unpack(names, event)) : [null];
  const sealed = events.map((event) => event?.sealed).join(' ');
  const values = [id, at, turn, input, output, cost, active, name ?? null, sealed] as const;
  if (name === undefined || sum !== checksum(salt, 'step', ...values)) return null;
  const [state, cause] = fromJson<readonly [string, string]>(name);
  return {
    saveVersion: positionIn(id),
    atMs: at,
    state,
    cause,
    turn,
    spend: { inputTokens: input, outputTokens: output, costMicros: cost, activeMs: active },
    events: events.map((event) => event?.object) as unknown as StepRecord['events'],
  };
}
