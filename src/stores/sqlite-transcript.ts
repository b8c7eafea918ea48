/** Messages by transcript. A fork's transcript names the one that it continues, and copies nothing of it. */
import type { Message } from '../core/message.ts';
import type { SqlValue } from './sqlite-driver.ts';
import {
  checksum,
  damaged,
  firstKey,
  fromJson,
  keyOf,
  lastKey,
  type StoreFile,
} from './sqlite-rows.ts';
import type { TranscriptBase } from './store.ts';

interface Base {
  readonly base: number | null;
  readonly shared: number;
}

/** Where a transcript begins: with so many messages of another one. */
export interface Beginning {
  readonly number: number;
  readonly shared: number;
}

export function addTranscript(
  { connection, salt }: StoreFile,
  run: number,
  generation: number,
  begins: Beginning | null,
): number {
  const next = 'SELECT coalesce(max(number), 0) + 1 AS number FROM transcripts';
  const number = Number(connection.get(next)?.number);
  const base = begins?.number ?? null;
  const shared = begins?.shared ?? 0;
  const sum = transcriptSum(salt, number, generation, base, shared);
  const insert = 'INSERT INTO transcripts VALUES (?, ?, ?, ?, ?, 0, 0, ?)';
  connection.run(insert, number, run, generation, base, shared, sum);
  const lend = 'UPDATE transcripts SET heirs = heirs + 1, lent = max(lent, ?) WHERE number = ?';
  if (base !== null) connection.run(lend, shared, base);
  return number;
}

const transcriptSum = (salt: string, ...values: readonly SqlValue[]): number =>
  checksum(salt, 'transcript', ...values);

export function findTranscript(file: StoreFile, run: number, generation: number): number | null {
  const find = 'SELECT number FROM transcripts WHERE run = ? AND generation = ?';
  const row = file.connection.get(find, run, generation);
  return row === undefined ? null : Number(row.number);
}

/** The transcript that holds the last of the shared messages itself; null when they are not all there. */
export function findBase(file: StoreFile, run: number, base: TranscriptBase): Beginning | null {
  let number = findTranscript(file, run, base.generation);
  while (number !== null) {
    const begins = readBase(file, base.runId, number);
    if (begins.base === null || begins.shared < base.length) break;
    number = begins.base;
  }
  if (number === null || !hasMessage(file, number, base.length - 1)) return null;
  return { number, shared: base.length };
}

const hasMessage = ({ connection }: StoreFile, number: number, position: number): boolean =>
  connection.get('SELECT 1 FROM messages WHERE id = ?', keyOf(number, position)) !== undefined;

export function addMessages(
  { connection, salt }: StoreFile,
  transcript: number,
  position: number,
  messages: readonly Message[],
): void {
  for (const [index, message] of messages.entries()) {
    const id = keyOf(transcript, position + index);
    const text = JSON.stringify(message);
    const sum = checksum(salt, 'message', id, text);
    connection.run('INSERT INTO messages VALUES (?, ?, ?)', id, text, sum);
  }
}

/** The first messages of a transcript, with what it shares. @throws PawlError when one is missing or damaged */
export function readMessages(
  file: StoreFile,
  runId: string,
  transcript: number,
  length: number,
): readonly Message[] {
  const stretches: (readonly Message[])[] = [];
  let number: number | null = transcript;
  let to = length;
  while (number !== null) {
    const { base, shared } = readBase(file, runId, number);
    const from = base === null ? 0 : Math.min(shared, to);
    stretches.push(readStretch(file, runId, number, from, to));
    number = base;
    to = from;
  }
  return stretches.reverse().flat();
}

function readBase({ connection, salt, path }: StoreFile, runId: string, number: number): Base {
  const find = 'SELECT generation, base, shared, sum FROM transcripts WHERE number = ?';
  const { generation, base, shared, sum } = connection.get(find, number) ?? {};
  const begins = { base: base as number | null, shared: shared as number };
  const isWhole =
    sum === transcriptSum(salt, number, generation as number, begins.base, begins.shared);
  // A base is always older, so that a chain ends.
  if (isWhole && (begins.base === null || begins.base < number)) return begins;
  throw damaged(path, runId, 'beginning of the transcript');
}

function readStretch(
  { connection, salt, path }: StoreFile,
  runId: string,
  transcript: number,
  from: number,
  to: number,
): readonly Message[] {
  if (from >= to) return [];
  const find = 'SELECT id, message, sum FROM messages WHERE id BETWEEN ? AND ? ORDER BY id';
  const rows = connection.all(find, keyOf(transcript, from), keyOf(transcript, to - 1));
  const messages = rows.map(({ id, message, sum }, index): Message => {
    const isNext = id === keyOf(transcript, from + index);
    const isWhole = sum === checksum(salt, 'message', id as number, message as string);
    if (!isNext || !isWhole) throw damaged(path, runId, `message ${from + index}`);
    return fromJson(message);
  });
  if (messages.length === to - from) return messages;
  throw damaged(path, runId, `message ${from + messages.length}`);
}

/** Takes transcripts from their run, and removes of them what no fork shares. */
export function dropTranscripts(file: StoreFile, numbers: readonly number[]): void {
  for (const number of numbers) {
    file.connection.run('UPDATE transcripts SET run = NULL WHERE number = ?', number);
    sweep(file, number);
  }
}

function sweep({ connection }: StoreFile, transcript: number): void {
  let number: number | null = transcript;
  while (number !== null) {
    const find = 'SELECT run, base, heirs, lent FROM transcripts WHERE number = ?';
    const { run, base, heirs, lent } = connection.get(find, number) ?? {};
    if (run !== null) return;
    const kept = Number(heirs) > 0 ? Number(lent) : 0;
    const drop = 'DELETE FROM messages WHERE id BETWEEN ? AND ?';
    connection.run(drop, firstKey(number) + kept, lastKey(number));
    if (Number(heirs) > 0) return;
    connection.run('DELETE FROM transcripts WHERE number = ?', number);
    number = base as number | null;
    if (number === null) return;
    connection.run('UPDATE transcripts SET heirs = heirs - 1 WHERE number = ?', number);
  }
}
