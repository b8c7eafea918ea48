import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the racers do, in one log that both write. */
export type RaceNote = { readonly racer: string } & (
  | { readonly what: 'resumed'; readonly runId: string }
  | { readonly what: 'refused'; readonly runId: string; readonly code: string }
  | { readonly what: 'sent'; readonly callKey: string }
  | { readonly what: 'ended'; readonly runId: string; readonly status: string }
);

const logIn = (folder: string): string => join(folder, 'race.jsonl');

export const appendRaceNote = (folder: string, note: RaceNote): void =>
  appendFileSync(logIn(folder), `${JSON.stringify(note)}\n`);

export function readRaceNotes(folder: string): readonly RaceNote[] {
  if (!existsSync(logIn(folder))) return [];
  const lines = readFileSync(logIn(folder), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as RaceNote);
}
