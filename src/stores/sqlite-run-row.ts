/** The row that holds the newest save of a run. */
import type { Row } from './sqlite-driver.ts';
import { checksum, damaged, fromJson, idText, type StoreFile } from './sqlite-rows.ts';
import type { RunHead, RunSummary } from './store.ts';

/** What a run began with, as its row shows it. */
export interface Origin {
  readonly createdAtMs: number;
  readonly forkOf: RunSummary['forkOf'];
}

export interface RunRow {
  readonly number: number;
  readonly version: number;
  readonly updated: number;
  readonly transcript: number;
  readonly generation: number;
  readonly length: number;
  readonly results: number;
  readonly head: RunHead;
  readonly origin: Origin;
}

/** The columns of a head, in the order in which its checksum has them. */
export type HeadColumns = readonly [
  version: number,
  updated: number,
  status: string,
  agent: string | null,
  transcript: number,
  generation: number,
  length: number,
  results: number,
  labels: string,
  head: string,
];

export const headSum = (salt: string, number: number, id: string, columns: HeadColumns): number =>
  checksum(salt, 'head', number, id, ...columns);

export const originSum = (salt: string, number: number, id: string, origin: string): number =>
  checksum(salt, 'origin', number, id, origin);

/** Filters ask for these texts. They are JSON within JSON, so that SQLite reads no escapes in them. */
export const tagLabel = (tag: string): string => `tag ${JSON.stringify(tag)}`;
export const waitLabel = (reason: string): string => `waits ${JSON.stringify(reason)}`;

export const labelsOf = ({ tags, waits }: RunHead): readonly string[] => [
  ...new Set([...tags.map(tagLabel), ...waits.map((wait) => waitLabel(wait.for))]),
];

/** The columns that `readRunRow` needs. */
export const runColumns =
  'number, id, version, updated, status, agent, transcript, generation, length, results, labels, head, headSum, origin, originSum';

export function isWholeRow({ salt }: StoreFile, row: Row): boolean {
  const { number, id, origin } = row as { number: number; id: string; origin: string };
  const { version, updated, status, agent, transcript, generation, length, results } = row;
  const columns = [version, updated, status, agent, transcript, generation, length, results];
  const whole = [...columns, row.labels, row.head] as unknown as HeadColumns;
  return (
    row.headSum === headSum(salt, number, id, whole) &&
    row.originSum === originSum(salt, number, id, origin)
  );
}

/** The row once its checksums are right. */
export const readRunRow = (row: Row): RunRow => ({
  ...(row as unknown as RunRow),
  head: fromJson(row.head),
  origin: fromJson(row.origin),
});

export function summaryOf(row: RunRow, runId: string): RunSummary {
  const { version, updated, head, origin } = row;
  return { ...head, runId, saveVersion: version, updatedAtMs: updated, ...origin };
}

/** The run's row with its checkpoint; null for an unknown run. @throws PawlError when it is damaged */
export function findRun(file: StoreFile, runId: string): (RunRow & { checkpoint: string }) | null {
  const id = idText(runId);
  const find = `SELECT ${runColumns}, checkpoint, checkpointSum FROM runs WHERE id = ?`;
  const row = file.connection.get(find, id);
  if (row === undefined) return absent(file, runId);
  if (!isWholeRow(file, row)) throw damaged(file.path, runId, 'row');
  const { number, version, checkpoint } = row as unknown as RunRow & { checkpoint: string };
  if (row.checkpointSum !== checkpointSum(file.salt, number, version, checkpoint)) {
    throw damaged(file.path, runId, 'checkpoint');
  }
  return { ...readRunRow(row), checkpoint };
}

export const checkpointSum = (salt: string, number: number, version: number, text: string) =>
  checksum(salt, 'checkpoint', number, version, text);

/** A damaged index hides a run that is there; whoever asks for an unknown one can wait for a look at all. */
function absent({ connection, path }: StoreFile, runId: string): null {
  const find = 'SELECT 1 FROM runs NOT INDEXED WHERE id = ?';
  if (connection.get(find, idText(runId)) === undefined) return null;
  throw damaged(path, runId, 'index entry');
}
