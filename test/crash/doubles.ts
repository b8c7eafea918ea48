import { liveAndDie, liveToTheEnd, newTrial, type Trial } from './play.ts';
import { type BudgetName, runId } from './scenario.ts';
import { nameOf, type Point } from './world.ts';

/** Numbers from 0 to under 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

export interface DoubleKill {
  readonly budget: BudgetName;
  /** Where each life but the last one ends: at a point, or after so many ms, wherever it is then. */
  readonly ends: readonly (Point | number)[];
}

/** Dies in each model call: what these may have cost uses the budget up, so that the loop comes to an end. */
export const crashLoop: DoubleKill = {
  budget: 'tight',
  ends: [3, 1, 1].map((time) => ({ boundary: 'model begun', time })),
};

/** A life that goes on with a run passes some boundaries that the first one does not. */
const resuming: readonly Point[] = ['list', 'posted', 'lease', 'load', 'save'].flatMap((name) =>
  [1, 2].flatMap((time) => [
    { boundary: `${name} before`, time },
    { boundary: `${name} after`, time },
  ]),
);

/** About as long as a life takes that nothing disturbs. */
const lifeMs = 800;

/** Two or three kills of one run, at random. Half of the runs have a budget that lost calls use up. */
export function randomDouble(random: () => number, points: readonly Point[]): DoubleKill {
  const pick = (from: readonly Point[]): Point | number =>
    from[Math.floor(random() * from.length)] ?? 0;
  const end = (from: readonly Point[]): Point | number =>
    random() < 0.5 ? pick(from) : Math.round(random() * lifeMs);
  const more = random() < 0.5 ? [end(points)] : [];
  const budget = random() < 0.5 ? 'wide' : 'tight';
  return { budget, ends: [end(points), end([...resuming, ...points]), ...more] };
}

const nameOfEnd = (end: Point | number): string =>
  typeof end === 'number' ? `${end} ms` : nameOf(end);

export async function playDouble(
  { budget, ends }: DoubleKill,
  expected: readonly unknown[],
): Promise<Trial> {
  const name = `${runId}, ${budget}: ${ends.map(nameOfEnd).join(', ')}`;
  let trial = newTrial(name, budget);
  for (const end of ends) trial = await liveAndDie(trial, end);
  const [ended = trial] = await liveToTheEnd([trial], expected);
  return ended;
}
