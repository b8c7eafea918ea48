/** A process that owns a run falls asleep over it, another one takes the run over, and then the first one wakes up. */
import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { type Death, type Life, startLife } from './child.ts';
import { problemsAtEnd } from './oracle.ts';
import { newFolder, orderFor } from './play.ts';
import type { LifeOrder } from './processes/life.ts';
import { readStored, type Stored } from './stored.ts';
import { type Noted, nameOf, notesOf, type Point } from './world.ts';
import { type Fate, readNotes } from './world-file.ts';

/** Longer than any lease. */
const sleepMs = 60_000;

export interface Takeover {
  /** Where the first one falls asleep. */
  readonly point: Point;
  /** What the second one does before the first one wakes: ends the run, or has saved it once and goes on after. */
  readonly second: 'ends' | 'goes on';
}

export interface Zombie {
  readonly name: string;
  /** The first one slept while the second one had the run. */
  readonly wasTakenOver: boolean;
  /** What the first one was told, at its end. */
  readonly refusal: string | null;
  readonly problems: readonly string[];
}

/** Where a process is in the middle of an effect, or about to save what came of one, or to begin what was saved. */
const sleepy = /^(model (begun|billed)|tool (begun|acted|end)|save (before|after))$/;

/** So many of these points, spread evenly over all of them. */
export const takeovers = (points: readonly Point[], most: number): readonly Takeover[] => {
  const all = points.filter(({ boundary }) => sleepy.test(boundary));
  const chosen = all.filter(
    (_, index) =>
      Math.floor((index * most) / all.length) !== Math.floor(((index - 1) * most) / all.length),
  );
  return chosen.map((point, index) => ({ point, second: index % 2 ? 'goes on' : 'ends' }));
};

interface Course {
  readonly notes: readonly Noted[];
  /** The store when the first one woke, when it was over, and at the very end. */
  readonly found: Stored | null;
  readonly left: Stored | null;
  readonly last: Stored | null;
  readonly deaths: readonly Death[];
}

export async function playTakeover(
  takeover: Takeover,
  expected: readonly unknown[],
): Promise<Zombie> {
  const folder = newFolder();
  const course = await runCourse(folder, takeover);
  const own = course.notes.filter(({ by }) => by === 'first');
  const refusal = notesOf(own, 'ended').at(-1)?.error ?? null;
  const taken = wasTakenOver(course);
  const found = taken ? zombieProblems(course, expected) : [];
  const broken = course.deaths.flatMap(({ problem }) => (problem === null ? [] : [problem]));
  const name = `${nameOf(takeover.point)}, the second one ${takeover.second}`;
  const problems = [...broken, ...found].map((problem) => `${name}: ${problem} (${folder})`);
  if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
  return { name, wasTakenOver: taken, refusal, problems };
}

async function runCourse(folder: string, { point, second }: Takeover): Promise<Course> {
  const order = { ...orderFor([folder], 'wide'), hasOthers: true };
  const lives: Life[] = [];
  const begin = async (own: Pick<LifeOrder, 'by' | 'fate' | 'clockAheadMs'>): Promise<Life> => {
    const life = await startLife({ ...order, ...own });
    lives.push(life);
    await life.asleep;
    return life;
  };
  try {
    const fate = { point, does: 'sleep', forMs: sleepMs } as const;
    const first = await begin({ by: 'first', fate, clockAheadMs: 0 });
    const other = await begin({ by: 'second', fate: fates[second], clockAheadMs: sleepMs });
    const found = await readStored(folder);
    const deaths = [await woken(first)];
    const left = await readStored(folder);
    deaths.push(await woken(other));
    return { notes: readNotes(folder), found, left, last: await readStored(folder), deaths };
  } finally {
    // Nobody is left asleep.
    for (const life of lives) life.kill();
  }
}

const fates: { readonly [second in Takeover['second']]: Fate | null } = {
  ends: null,
  'goes on': { point: { boundary: 'save after', time: 1 }, does: 'sleep', forMs: 0 },
};

function woken(life: Life): Promise<Death> {
  life.wake();
  return life.end;
}

const awakeIn = (notes: readonly Noted[]): number =>
  notes.findIndex(({ what, by }) => what === 'awake' && by === 'first');

/** The second one saved the run while the first one slept. One that had ended by then is no one's any more. */
const wasTakenOver = ({ notes }: Course): boolean =>
  notes.slice(0, awakeIn(notes)).some(({ what, by }) => what === 'saved' && by === 'second');

function zombieProblems(course: Course, expected: readonly unknown[]): readonly string[] {
  const { notes, found, left, last } = course;
  const awakeAt = awakeIn(notes);
  const since = notes.slice(awakeAt).filter(({ by }) => by === 'first');
  const before = notes.slice(0, awakeAt);
  const others = notes.filter(({ by }) => by === 'second');
  // What the first one was told of its end is its own; the run ended as the second one says.
  const ofRun = notes.filter(({ what, by }) => !(what === 'ended' && by === 'first'));
  return [
    ...sinceProblems(since, before, others),
    ...(isDeepStrictEqual(found, left) ? [] : ['what it did after that changed the stored run']),
    ...problemsAtEnd(ofRun, last, 'wide', expected),
  ];
}

const refusals = ['stale_snapshot', 'run_locked', 'run_exists'];

/** What was in its hands when it fell asleep may come to its end; nothing else happens. */
function sinceProblems(
  since: readonly Noted[],
  before: readonly Noted[],
  others: readonly Noted[],
): readonly string[] {
  const begun = new Set(
    notesOf(before, 'tool begun')
      .filter(({ by }) => by === 'first')
      .map(({ callId }) => callId),
  );
  const acted = notesOf(since, 'tool acted').map(({ callId }) => callId);
  const end = notesOf(since, 'ended').at(-1);
  return [
    ...since.flatMap((note) =>
      isAccepted(note, others) ? [`awake, it did: ${JSON.stringify(note)}`] : [],
    ),
    ...acted.flatMap((callId, index) =>
      begun.has(callId) && acted.indexOf(callId) === index ? [] : [`awake, ${callId} acted`],
    ),
    ...(end?.status === 'failed' && refusals.includes(end.error ?? '')
      ? []
      : [`the one that slept ended as ${end?.status}: ${end?.error}`]),
  ];
}

const effects: readonly Noted['what'][] = ['saved', 'model begun', 'tool begun'];

/** Something that only the owner of the run may bring about. */
function isAccepted(note: Noted, others: readonly Noted[]): boolean {
  if (effects.includes(note.what)) return true;
  if (note.what !== 'approved' && note.what !== 'settled' && note.what !== 'retried') return false;
  // The word of a person that was saved before is acknowledged late, and nobody is asked for it again.
  return others.some((other) => other.what === note.what && other.callId === note.callId);
}
