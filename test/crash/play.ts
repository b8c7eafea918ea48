/** Plays lives in processes of their own, and judges what they leave. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { askedAgain, problemsAtDeath, problemsAtEnd } from './oracle.ts';
import type { LifeOrder } from './processes/life.ts';
import type { BudgetName } from './scenario.ts';
import { readStored, type Stored } from './stored.ts';
import { type Note, nameOf, notesOf, type Point } from './world.ts';
import { readNotes } from './world-file.ts';

const script = fileURLToPath(new URL('./processes/life.ts', import.meta.url));

/** How long a life may take, in ms: one that waits for ever is a failure, not a hang of the test. */
const lifeTimeoutMs = 120_000;

interface Death {
  readonly wasKilled: boolean;
  readonly problem: string | null;
}

/** One process. `killAfterMs`: it is killed from outside, wherever it is then. */
function liveOnce(order: LifeOrder, killAfterMs: number | null = null): Promise<Death> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(order)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    let isLate = false;
    child.stderr.on('data', (text) => {
      errors += text;
    });
    const late = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, lifeTimeoutMs);
    const shot =
      killAfterMs === null ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    child.on('close', (code, signal) => {
      clearTimeout(late);
      clearTimeout(shot);
      const wasKilled = signal === 'SIGKILL' && !isLate;
      const problem = isLate ? 'it did not end' : code ? `exit code ${code}: ${errors}` : null;
      resolve({ wasKilled, problem });
    });
  });
}

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

/** One more life of a trial, which a kill may end: at a point, or at a moment. */
export async function liveAndDie(trial: Trial, at: Point | number): Promise<Trial> {
  const { folder, budget } = trial;
  const isMoment = typeof at === 'number';
  const order: LifeOrder = { folders: [folder], dieAt: isMoment ? null : at, budget };
  const { wasKilled, problem } = await liveOnce(order, isMoment ? at : null);
  return judge({ ...trial, kills: trial.kills + Number(wasKilled) }, problem);
}

/** What the last life did and left. */
async function judge(trial: Trial, problem: string | null): Promise<Trial> {
  const notes = readNotes(trial.folder);
  const found = askedAgain(notes.slice(trial.noted), trial.left);
  const left = await readStored(trial.folder);
  const problems = [...(problem ? [problem] : []), ...found, ...problemsAtDeath(notes, left)];
  return { ...trial, left, noted: notes.length, problems: [...trial.problems, ...problems] };
}

/** A last life for all of them, in one new process. */
export async function liveToTheEnd(
  trials: readonly Trial[],
  expected: readonly unknown[],
): Promise<readonly Trial[]> {
  const [{ budget } = { budget: 'wide' as const }] = trials;
  const folders = trials.map(({ folder }) => folder);
  const { problem } = await liveOnce({ folders, dieAt: null, budget });
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
  readonly notes: readonly Note[];
}> {
  const trial = newTrial('undisturbed', 'wide');
  const { problem } = await liveOnce({ folders: [trial.folder], dieAt: null, budget: 'wide' });
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

/** As `Promise.all` of `work`, but so many at once only. */
export async function eachOf<Item, Done>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Done>,
): Promise<readonly Done[]> {
  const done: Done[] = [];
  const left = [...items.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) done[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return done;
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
  const groups = Array.from({ length: Math.ceil(dead.length / 12) }, (_, index) =>
    dead.slice(index * 12, index * 12 + 12),
  );
  const ended = await eachOf(groups, 2, (group) => liveToTheEnd(group, expected));
  return ended.flat();
}
