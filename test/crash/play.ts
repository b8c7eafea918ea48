/** Plays lives in processes of their own, and judges what they leave. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { liveOnce } from './child.ts';
import { eachOf } from './each-of.ts';
import { askedAgain, problemsAtDeath, problemsAtEnd } from './oracle.ts';
import type { LifeOrder } from './processes/life.ts';
import type { BudgetName } from './scenario.ts';
import { readStored, type Stored } from './stored.ts';
import { type Noted, nameOf, notesOf, type Point } from './world.ts';
import { readNotes } from './world-file.ts';

/** A run in a folder of its own, between its lives. */
export interface Trial {
  readonly folder: string;
  readonly name: string;
  readonly budget: BudgetName;
  readonly kills: number;
  /** The store as the last life left it, and how much had been noted then. */
  readonly left: Stored | null;
  readonly noted: number;
  readonly problems: readonly string[];
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'pawl-crash-'));

export const newTrial = (name: string, budget: BudgetName): Trial => ({
  folder: newFolder(),
  name,
  budget,
  kills: 0,
  left: null,
  noted: 0,
  problems: [],
});

export const orderFor = (folders: readonly string[], budget: BudgetName): LifeOrder => ({
  by: 'a life',
  folders,
  budget,
  fate: null,
  clockAheadMs: 0,
  hasOthers: false,
});

/** One more life of a trial, which a kill may end: at a point, or at a moment. */
export async function liveAndDie(trial: Trial, at: Point | number): Promise<Trial> {
  const { folder, budget } = trial;
  const isMoment = typeof at === 'number';
  const fate = isMoment ? null : ({ point: at, does: 'die' } as const);
  const order = { ...orderFor([folder], budget), fate };
  const { wasKilled, problem } = await liveOnce(order, { killAfterMs: isMoment ? at : null });
  return judge({ ...trial, kills: trial.kills + Number(wasKilled) }, problem);
}

/** What the last life did and left. */
export async function judge(trial: Trial, problem: string | null): Promise<Trial> {
  const notes = readNotes(trial.folder);
  const broken = problem === null ? [] : [problem];
  const found = [...trial.problems, ...broken, ...askedAgain(notes.slice(trial.noted), trial.left)];
  try {
    const left = await readStored(trial.folder);
    const problems = [...found, ...problemsAtDeath(notes, left)];
    return { ...trial, left, noted: notes.length, problems };
  } catch (error) {
    const unread = `the store can't be read: ${error instanceof Error ? error.message : error}`;
    return { ...trial, left: null, noted: notes.length, problems: [...found, unread] };
  }
}

/** A last life for all of them, in one new process. */
export async function liveToTheEnd(
  trials: readonly Trial[],
  expected: readonly unknown[],
): Promise<readonly Trial[]> {
  const [{ budget } = { budget: 'wide' as const }] = trials;
  const folders = trials.map(({ folder }) => folder);
  const { problem } = await liveOnce(orderFor(folders, budget));
  return Promise.all(trials.map(async (trial) => judgeEnd(await judge(trial, problem), expected)));
}

function judgeEnd(trial: Trial, expected: readonly unknown[]): Trial {
  const notes = readNotes(trial.folder);
  const problems = problemsAtEnd(notes, trial.left, trial.budget, expected);
  return { ...trial, problems: [...trial.problems, ...problems] };
}

/** The folder of a trial that went wrong stays, to be looked at. Gives what went wrong. */
export function closeTrial({ folder, name, problems }: Trial): readonly string[] {
  if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
  return problems.map((problem) => `${name}: ${problem} (${folder})`);
}

/** A run that nothing disturbs: its history, and all points at which a life can be ended. */
export async function liveUndisturbed(): Promise<{
  readonly messages: readonly unknown[];
  readonly points: readonly Point[];
  readonly notes: readonly Noted[];
}> {
  const trial = newTrial('undisturbed', 'wide');
  const { problem } = await liveOnce(orderFor([trial.folder], 'wide'));
  const notes = readNotes(trial.folder);
  const messages = notesOf(notes, 'ended')[0]?.messages ?? [];
  const counts = notesOf(notes, 'boundaries')[0]?.counts ?? {};
  const points = Object.entries(counts).flatMap(([boundary, times]) =>
    Array.from({ length: times }, (_, index) => ({ boundary, time: index + 1 })),
  );
  const done = judgeEnd(await judge(trial, problem), messages);
  const [first] = closeTrial(done);
  if (first !== undefined) throw new Error(first);
  return { messages, points, notes };
}

/** Kills one life at each of the points, and lets all runs live on. */
export async function killAtEach(
  points: readonly Point[],
  expected: readonly unknown[],
  atOnce: number,
): Promise<readonly Trial[]> {
  const dead = await eachOf(points, atOnce, (point) =>
    liveAndDie(newTrial(nameOf(point), 'wide'), point),
  );
  return endAll(dead, expected);
}

/** Lets all of them live on, a dozen in a process. */
export async function endAll(
  trials: readonly Trial[],
  expected: readonly unknown[],
): Promise<readonly Trial[]> {
  const groups = Array.from({ length: Math.ceil(trials.length / 12) }, (_, index) =>
    trials.slice(index * 12, index * 12 + 12),
  );
  const ended = await eachOf(groups, 2, (group) => liveToTheEnd(group, expected));
  return ended.flat();
}
