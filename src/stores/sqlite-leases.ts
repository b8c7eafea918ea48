import type { Json } from '../core/json.ts';
import { checksum, damaged, fromJson, idText, type StoreFile } from './sqlite-rows.ts';
import type { LeaseAnswer, Posted } from './store.ts';

/** Within a transaction. */
export function takeLease(
  { connection }: StoreFile,
  runId: string,
  owner: string,
  untilMs: number,
  nowMs: number,
): LeaseAnswer {
  const held = connection.get('SELECT owner, until FROM leases WHERE run = ?', idText(runId));
  const holder = JSON.stringify(owner);
  if (held !== undefined && held.owner !== holder && Number(held.until) > nowMs) {
    return { ok: false, owner: fromJson(held.owner), untilMs: Number(held.until) };
  }
  const take = 'INSERT OR REPLACE INTO leases VALUES (?, ?, ?)';
  connection.run(take, idText(runId), holder, untilMs);
  return { ok: true };
}

/** Within a transaction. */
export function releaseLeases(
  { connection }: StoreFile,
  runIds: readonly string[],
  owner: string,
): void {
  const release = 'DELETE FROM leases WHERE run = ? AND owner = ?';
  for (const runId of runIds) connection.run(release, idText(runId), JSON.stringify(owner));
}

/** Within a transaction. */
export function postEvent(
  { connection, salt }: StoreFile,
  runId: string,
  event: { readonly [key: string]: Json },
): void {
  const id = idText(runId);
  const text = JSON.stringify(event);
  connection.run('UPDATE store SET posted = posted + 1');
  const number = Number(connection.get('SELECT posted FROM store')?.posted);
  const sum = checksum(salt, 'posted', number, id, text);
  connection.run('INSERT INTO posted VALUES (?, ?, ?, ?)', number, id, text, sum);
}

/** The table is short: what a run has heard leaves it. So every row is looked at, and none is missed for a damaged id. */
export function readPosted(file: StoreFile, runIds: readonly string[]): readonly Posted[] {
  const wanted = new Map(runIds.map((runId) => [idText(runId), runId]));
  const rows = file.connection.all('SELECT number, run, event, sum FROM posted ORDER BY number');
  return (rows as unknown as readonly PostedRow[]).flatMap((row): readonly Posted[] => {
    const runId = wanted.get(row.run) ?? null;
    if (isWhole(file, row, row.run)) {
      return runId === null ? [] : [{ runId, number: row.number, event: fromJson(row.event) }];
    }
    const owner = runId ?? runIds.find((id) => isWhole(file, row, idText(id)));
    if (owner === undefined) return [];
    throw damaged(file.path, owner, `posted event ${row.number}`);
  });
}

interface PostedRow {
  readonly number: number;
  readonly run: string;
  readonly event: string;
  readonly sum: number;
}

const isWhole = ({ salt }: StoreFile, { number, event, sum }: PostedRow, id: string): boolean =>
  sum === checksum(salt, 'posted', number, id, event);
