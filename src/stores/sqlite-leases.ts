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

export function readPosted(file: StoreFile, runIds: readonly string[]): readonly Posted[] {
  const find =
    'SELECT number, run, event, sum FROM posted WHERE run IN (SELECT value FROM json_each(?)) ORDER BY number';
  const rows = file.connection.all(find, JSON.stringify(runIds.map(idText)));
  return rows.map(({ number, run, event, sum }) => {
    const runId = fromJson<string>(run);
    if (sum !== checksum(file.salt, 'posted', number as number, run as string, event as string)) {
      throw damaged(file.path, runId, `posted event ${number}`);
    }
    return { runId, number: number as number, event: fromJson(event) };
  });
}
