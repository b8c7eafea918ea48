import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Note, Point, World } from './world.ts';

export const storeIn = (folder: string): string => join(folder, 'runs.db');

const logIn = (folder: string): string => join(folder, 'world.jsonl');

/** What all lives in this folder noted. A note is with the system once it is written: no SIGKILL takes it back. */
export function readNotes(folder: string): readonly Note[] {
  if (!existsSync(logIn(folder))) return [];
  const lines = readFileSync(logIn(folder), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Note);
}

/** The world in a folder, for a process that kills itself when it comes to a certain point. */
export function fileWorld(folder: string, dieAt: Point | null): World & { end(): void } {
  const earlier = readNotes(folder);
  const own: Note[] = [];
  const counts: Record<string, number> = {};
  const note = (noted: Note): void => {
    appendFileSync(logIn(folder), `${JSON.stringify(noted)}\n`, { flag: 'a' });
    own.push(noted);
  };
  note({ what: 'life' });
  return {
    note,
    notes: () => [...earlier, ...own],
    meet(boundary) {
      counts[boundary] = (counts[boundary] ?? 0) + 1;
      if (boundary === dieAt?.boundary && counts[boundary] === dieAt.time) die();
    },
    end: () => note({ what: 'boundaries', counts }),
  };
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // Nothing of this process goes on, should the signal take a moment.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
