import { firstKey, idText, lastKey, type StoreFile } from './sqlite-rows.ts';
import { dropTranscripts } from './sqlite-transcript.ts';

/** Within a transaction. Reads nothing that a checksum guards, so a damaged run can be removed, too. */
export function deleteRun(file: StoreFile, runId: string): void {
  const { connection } = file;
  const id = idText(runId);
  connection.run('DELETE FROM leases WHERE run = ?', id);
  connection.run('DELETE FROM posted WHERE run = ?', id);
  const row = connection.get('SELECT number FROM runs WHERE id = ?', id);
  if (row === undefined) return;
  const number = Number(row.number);
  dropTranscripts(file, transcriptsOf(file, number));
  const range = [firstKey(number), lastKey(number)] as const;
  connection.run('DELETE FROM results WHERE id BETWEEN ? AND ?', ...range);
  connection.run('DELETE FROM turns WHERE id BETWEEN ? AND ?', ...range);
  connection.run('DELETE FROM steps WHERE id BETWEEN ? AND ?', ...range);
  connection.run('DELETE FROM begins WHERE run = ?', number);
  connection.run('DELETE FROM runs WHERE number = ?', number);
}

const transcriptsOf = ({ connection }: StoreFile, run: number): readonly number[] =>
  connection
    .all('SELECT number FROM transcripts WHERE run = ?', run)
    .map(({ number }) => Number(number));

const findEnded =
  "SELECT number, transcript FROM runs WHERE status NOT IN ('running', 'waiting') AND updated < ? AND turns > ?";

/** Within a transaction. */
export function pruneTurns(
  file: StoreFile,
  { endedBeforeMs, keepTurns }: { readonly endedBeforeMs: number; readonly keepTurns: number },
): number {
  let dropped = 0;
  for (const row of file.connection.all(findEnded, endedBeforeMs, keepTurns)) {
    dropped += pruneRun(file, Number(row.number), Number(row.transcript), keepTurns);
  }
  return dropped;
}

function pruneRun(file: StoreFile, number: number, transcript: number, keepTurns: number): number {
  const { connection } = file;
  const range = [firstKey(number), lastKey(number)] as const;
  const drop =
    'DELETE FROM turns WHERE id BETWEEN ? AND ? AND id NOT IN (SELECT id FROM turns WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?)';
  const dropped = connection.run(drop, ...range, ...range, keepTurns);
  connection.run('UPDATE runs SET turns = turns - ? WHERE number = ?', dropped, number);
  const needed = connection
    .all('SELECT DISTINCT transcript FROM turns WHERE id BETWEEN ? AND ?', ...range)
    .map((row) => Number(row.transcript));
  const unneeded = transcriptsOf(file, number).filter(
    (other) => other !== transcript && !needed.includes(other),
  );
  dropTranscripts(file, unneeded);
  return dropped;
}
