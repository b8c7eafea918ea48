/** Plays many scenarios, checks each, and keeps a tally of what they covered. */
import * as fc from 'fast-check';
import { anyScenario } from './any-scenario.ts';
import { callProblems } from './check-calls.ts';
import { eventProblems } from './check-events.ts';
import { routingProblems } from './check-routing.ts';
import { spendingProblems } from './check-spending.ts';
import { play } from './play.ts';
import type { Scenario } from './scenario.ts';
import type { World } from './world.ts';

export interface Proof {
  readonly seed: number;
  readonly runs: number;
  /** In how many runs each thing happened. */
  readonly covered: ReadonlyMap<string, number>;
  /** The smallest scenario found that breaks something, and what it breaks. Null: none did. */
  readonly counterexample: {
    readonly scenario: Scenario;
    readonly problems: readonly string[];
  } | null;
}

export async function prove(options: {
  readonly seed: number;
  readonly runs: number;
  /** Find a small counterexample, not just the first. */
  readonly shrinks?: boolean;
}): Promise<Proof> {
  const covered = new Map<string, number>();
  const property = fc.asyncProperty(anyScenario, async (scenario) => {
    const world = await playAndCheck(scenario);
    for (const what of world.seen.keys()) covered.set(what, (covered.get(what) ?? 0) + 1);
    if (world.problems.length > 0) throw new Error(world.problems.join('\n'));
  });
  const { seed, runs, shrinks = true } = options;
  const found = await fc.check(property, {
    seed,
    numRuns: runs,
    endOnFailure: !shrinks,
  });
  const scenario = found.counterexample?.[0];
  const counterexample = scenario
    ? { scenario, problems: await problemsIn(scenario, found.errorInstance) }
    : null;
  return { seed, runs: found.numRuns, covered, counterexample };
}

/** Plays it once more. A race may not come again, so what was thrown the first time is told as well. */
async function problemsIn(scenario: Scenario, thrown: unknown): Promise<readonly string[]> {
  const first = `First it was: ${String(thrown)}`;
  try {
    const { problems } = await playAndCheck(scenario);
    return problems.length > 0 ? problems : [first];
  } catch (error) {
    return [`It throws: ${String(error)}`];
  }
}

async function playAndCheck(scenario: Scenario): Promise<World> {
  const world = await play(scenario);
  if (!world.result) return world;
  world.seen.set(`status ${world.result.status}`, 1);
  world.problems.push(
    ...spendingProblems(world),
    ...callProblems(world),
    ...routingProblems(world),
    ...eventProblems(world),
  );
  return world;
}
