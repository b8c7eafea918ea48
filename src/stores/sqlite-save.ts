import type { Json, JsonObject } from '../core/json.ts';
import { difference } from './json-difference.ts';
import { numberOf, pack } from './sqlite-names.ts';
import {
  checksum,
  damaged,
  firstKey,
  fromJson,
  idText,
  keyOf,
  lastKey,
  type StoreFile,
} from './sqlite-rows.ts';
import {
  checkpointSum,
  type HeadColumns,
  headSum,
  labelsOf,
  type Origin,
  originSum,
} from './sqlite-run-row.ts';
import {
  addMessages,
  addTranscript,
  type Beginning,
  findBase,
  findTranscript,
} from './sqlite-transcript.ts';
import { brokenStep } from './step-order.ts';
import type { Refused, SaveStep, StepRecord, TurnStart } from './store.ts';

/** What is known of a run before a step. */
interface Known {
  readonly number: number;
  readonly version: number;
  readonly transcript: number;
  readonly generation: number;
  readonly length: number;
  readonly results: number;
  readonly turns: number;
}

/** Within a transaction. Steps that are refused leave no trace. */
export function saveSteps(file: StoreFile, steps: readonly SaveStep[]): readonly Refused[] {
  const refused: Refused[] = [];
  for (const step of steps) {
    const why = saveStep(file, step);
    if (why !== null) refused.push({ runId: step.runId, why });
  }
  return refused;
}

const findKnown =
  'SELECT number, version, transcript, generation, length, results, turns FROM runs WHERE id = ?';

function saveStep(file: StoreFile, step: SaveStep): Refused['why'] | null {
  const known = file.connection.get(findKnown, idText(step.runId)) as Known | undefined;
  if (step.follows === 0) return known === undefined ? begin(file, step) : 'exists';
  if (known === undefined || known.version !== step.follows) return 'stale';
  const problem = brokenStep(known, step);
  if (problem !== null) throw problem;
  const isSame = step.generation === known.generation;
  const transcript = isSame
    ? known.transcript
    : addTranscript(file, known.number, step.generation, null);
  write(file, step, { ...known, transcript });
  return null;
}

function begin(file: StoreFile, step: SaveStep): Refused['why'] | null {
  const problem = brokenStep(null, step);
  if (problem !== null) throw problem;
  const base = beginningOf(file, step);
  if (base === 'gone') return 'stale';
  const { connection, salt } = file;
  const next = 'SELECT coalesce(max(number), 0) + 1 AS number FROM runs';
  const number = Number(connection.get(next)?.number);
  const transcript = addTranscript(file, number, step.generation, base);
  const settings = JSON.stringify(step.begin?.settings);
  const sum = checksum(salt, 'settings', number, settings);
  connection.run('INSERT INTO begins VALUES (?, ?, ?, NULL, NULL)', number, settings, sum);
  insertRow(file, step, number);
  const lease = step.begin?.lease ?? null;
  if (lease !== null) {
    const id = idText(step.runId);
    const take = 'INSERT OR REPLACE INTO leases VALUES (?, ?, ?)';
    connection.run(take, id, JSON.stringify(lease.owner), lease.untilMs);
  }
  write(file, step, { ...fresh, number, transcript });
  return null;
}

const fresh = { version: 0, generation: 0, length: 0, results: 0, turns: 0 };

function beginningOf(file: StoreFile, { begin: start }: SaveStep): Beginning | null | 'gone' {
  const base = start?.base ?? null;
  if (base === null || base.length === 0) return null;
  const parent = file.connection.get(findKnown, idText(base.runId)) as Known | undefined;
  return (parent && findBase(file, parent.number, base)) ?? 'gone';
}

/** A row that `write` fills. */
function insertRow({ connection, salt }: StoreFile, step: SaveStep, number: number): void {
  const id = idText(step.runId);
  const forkOf = step.begin?.forkOf ?? null;
  const origin = JSON.stringify({ createdAtMs: step.record.atMs, forkOf } satisfies Origin);
  connection.run(
    "INSERT INTO runs VALUES (?, ?, 0, 0, '', NULL, 0, 0, 0, 0, 0, '[]', ?, ?, '', 0, '', 0)",
    number,
    id,
    origin,
    originSum(salt, number, id, origin),
  );
}

const update =
  'UPDATE runs SET version = ?, updated = ?, status = ?, agent = ?, transcript = ?, generation = ?, length = ?, results = ?, labels = ?, head = ?, headSum = ?, turns = ?, checkpoint = ?, checkpointSum = ? WHERE number = ?';

function write(file: StoreFile, step: SaveStep, known: Known): void {
  const { connection, salt } = file;
  const { number, transcript } = known;
  addMessages(file, transcript, step.position, step.messages);
  const version = step.follows + 1;
  const columns: HeadColumns = [
    version,
    step.record.atMs,
    step.head.status,
    step.head.agent === null ? null : JSON.stringify(step.head.agent),
    transcript,
    step.generation,
    step.position + step.messages.length,
    writeResults(file, step, known),
    JSON.stringify(labelsOf(step.head)),
    JSON.stringify(step.head),
  ];
  const turns = known.turns + writeTurn(file, step, known);
  const checkpoint = JSON.stringify(step.checkpoint);
  const sum = headSum(salt, number, idText(step.runId), columns);
  const sealed = checkpointSum(salt, number, version, checkpoint);
  connection.run(update, ...columns, sum, turns, checkpoint, sealed, number);
  writeRecord(file, number, { saveVersion: version, ...step.record });
  for (const heard of step.heard) {
    const drop = 'DELETE FROM posted WHERE number = ? AND run = ?';
    connection.run(drop, heard, idText(step.runId));
  }
}

/** Gives how many results the open batch has now. */
function writeResults({ connection, salt }: StoreFile, step: SaveStep, known: Known): number {
  const { number, results } = known;
  if (step.closesBatch) {
    const drop = 'DELETE FROM results WHERE id BETWEEN ? AND ?';
    if (results > 0) connection.run(drop, firstKey(number), lastKey(number));
    return 0;
  }
  for (const [index, result] of step.results.entries()) {
    const id = keyOf(number, results + index);
    const text = JSON.stringify(result);
    const sum = checksum(salt, 'result', id, text);
    connection.run('INSERT INTO results VALUES (?, ?, ?)', id, text, sum);
  }
  return results + step.results.length;
}

/** Gives how many turns this adds: 0 or 1. */
function writeTurn(file: StoreFile, { runId, generation, turnStart }: SaveStep, known: Known) {
  if (turnStart === null) return 0;
  const { connection, salt } = file;
  const { number } = known;
  const transcript =
    turnStart.generation === generation
      ? known.transcript
      : findTranscript(file, number, turnStart.generation);
  if (transcript === null) throw damaged(file.path, runId, `generation ${turnStart.generation}`);
  const change = changeSinceStart(file, runId, number, turnStart.context);
  const { row, sealed } = pack(connection, asJson(change));
  const id = keyOf(number, turnStart.turn);
  const place = [id, transcript, turnStart.generation, turnStart.length] as const;
  const isNew = connection.get('SELECT 1 FROM turns WHERE id = ?', id) === undefined;
  const insert = 'INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?)';
  const sum = checksum(salt, 'turn', ...place, sealed);
  connection.run(insert, ...place, JSON.stringify(row), sum);
  return isNew ? 1 : 0;
}

/** Contexts of later turns are kept as what differs from the first one: most of it never changes. */
function changeSinceStart(
  file: StoreFile,
  runId: string,
  number: number,
  context: TurnStart['context'],
) {
  const start = readStart(file, runId, number);
  if (start !== null) return difference(start, context);
  const text = JSON.stringify(context);
  const sum = checksum(file.salt, 'start', number, text);
  const keep = 'UPDATE begins SET start = ?, startSum = ? WHERE run = ?';
  file.connection.run(keep, text, sum, number);
  return {};
}

export function readStart(
  { connection, salt, path }: StoreFile,
  runId: string,
  number: number,
): { readonly [key: string]: Json } | null {
  const row = connection.get('SELECT start, startSum FROM begins WHERE run = ?', number);
  if (row?.start === null && row.startSum === null) return null;
  if (row?.startSum === checksum(salt, 'start', number, row?.start as string)) {
    return fromJson(row?.start);
  }
  throw damaged(path, runId, 'context of the first turn');
}

function writeRecord({ connection, salt }: StoreFile, number: number, record: StepRecord): void {
  const { inputTokens, outputTokens, costMicros, activeMs } = record.spend;
  const row = [
    keyOf(number, record.saveVersion),
    record.atMs,
    record.turn,
    inputTokens,
    outputTokens,
    costMicros,
    activeMs,
  ] as const;
  const name = JSON.stringify([record.state, record.cause]);
  const events = record.events.map((event) => pack(connection, asJson(event)));
  const sealed = events.map((event) => event.sealed).join(' ');
  const sum = checksum(salt, 'step', ...row, name, sealed);
  const insert = 'INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
  const rows = JSON.stringify(events.map((event) => event.row));
  connection.run(insert, ...row, numberOf(connection, name), rows, sum);
}

/** What JSON makes of it: fields that are undefined are none. */
const asJson = (value: object): JsonObject => JSON.parse(JSON.stringify(value));
