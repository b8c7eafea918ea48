import { existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { putClockOn } from './clock.ts';
import type { Note, Noted, Point, World } from './world.ts';

export const storeIn = (folder: string): string => join(folder, 'runs.db');

const logIn = (folder: string): string => join(folder, 'world.jsonl');

/**
 * The log of a folder, for a life to write to. Whoever starts the life opens it, so it is there before the life begins and
 * whatever becomes of it. A note is with the system once it is written: no SIGKILL takes it back.
 */
export const openLog = (folder: string): number => openSync(logIn(folder), 'a');

/** What all lives in this folder noted, in the order in which they did. */
export function readNotes(folder: string): readonly Noted[] {
  if (!existsSync(logIn(folder))) return [];
  const lines = readFileSync(logIn(folder), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Noted);
}

/** What becomes of a process at a point: it kills itself, or sleeps until it is woken, by its clock for so long. */
export type Fate =
  | { readonly point: Point; readonly does: 'die' }
  | { readonly point: Point; readonly does: 'sleep'; readonly forMs: number };

export interface FileWorldOptions {
  readonly folder: string;
  /** As `openLog` gives it, in the process that started this one. */
  readonly log: number;
  /** Names this life in its notes. */
  readonly by: string;
  readonly fate: Fate | null;
  readonly hasOthers: boolean;
}

/** The world in a folder, for a process of its own. */
export function fileWorld(options: FileWorldOptions): World & { end(): void } {
  const { log, by, fate } = options;
  const earlier = readNotes(options.folder);
  const own: Noted[] = [];
  const counts: Record<string, number> = {};
  let isLate = false;
  const note = (noted: Note): void => {
    const line: Noted = { ...noted, by };
    writeSync(log, `${JSON.stringify(line)}\n`);
    own.push(line);
  };
  const sleep = (forMs: number): void => {
    note({ what: 'asleep' });
    tellParent('asleep');
    process.kill(process.pid, 'SIGSTOP');
    note({ what: 'awake' });
    putClockOn(forMs);
    isLate = forMs > 0;
  };
  note({ what: 'life' });
  return {
    note,
    notes: () => [...earlier, ...own],
    hasOthers: options.hasOthers,
    isLate: () => isLate,
    meet(boundary) {
      counts[boundary] = (counts[boundary] ?? 0) + 1;
      if (boundary !== fate?.point.boundary || counts[boundary] !== fate.point.time) return;
      if (fate.does === 'die') die();
      sleep(fate.forMs);
    },
    end: () => note({ what: 'boundaries', counts }),
  };
}

/** At once, also when the process does nothing more. */
export const tellParent = (word: 'begun' | 'asleep'): number => writeSync(1, `${word}\n`);

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // Nothing of this process goes on, should the signal take a moment.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
