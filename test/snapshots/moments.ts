/** Every moment in which a process could die: the snapshots that the scenarios pass. */
import type { RunSnapshot } from 'pawl';
import { kebab, nameOf, type Recording, statesIn } from './recording.ts';
import {
  copyOfWorld,
  meddleIn,
  newWorld,
  playOf,
  playPerson,
  type ScenarioName,
  scenarioNames,
  type World,
} from './scenarios.ts';

export type Moment = Omit<Recording, 'expected'>;

/** Every snapshot that a run passes, with the world as it was then. */
async function momentsOf(
  scenario: ScenarioName,
  world: World,
  from: RunSnapshot | null,
): Promise<readonly Moment[]> {
  const { agent, start } = playOf(scenario, world);
  const moments: Moment[] = [];
  const seen: { run?: Awaited<ReturnType<typeof agent.resume>> } = {};
  const look = (): void => {
    if (!seen.run) return;
    const snapshot = JSON.parse(JSON.stringify(seen.run.snapshot())) as RunSnapshot;
    moments.push({ scenario, world: copyOfWorld(world), snapshot });
    meddle(seen.run.state);
  };
  const inspect = ({ type }: { readonly type: string }): void => {
    if (type === '@xstate.snapshot') look();
  };
  const run = from ? await agent.resume(from, { inspect }) : start({ inspect });
  const meddle = from ? () => {} : meddleIn(scenario, run);
  seen.run = run;
  look();
  await playPerson(run);
  await run.result;
  look();
  return moments;
}

/** The first life of each scenario, and second lives of those that died while a tool ran. */
export async function allMoments(): Promise<readonly Moment[]> {
  const first: Moment[] = [];
  for (const scenario of scenarioNames) {
    first.push(...(await momentsOf(scenario, newWorld(), null)));
  }
  const second: Moment[] = [];
  for (const scenario of ['approval', 'probed', 'reported', 'batch'] as const) {
    const died = first.find((one) => one.scenario === scenario && isRunning(one.snapshot));
    if (!died) throw new Error(`The scenario ${scenario} never ran a tool.`);
    second.push(...(await momentsOf(scenario, copyOfWorld(died.world), died.snapshot)));
  }
  return [...first, ...second];
}

const isRunning = (snapshot: RunSnapshot): boolean =>
  statesIn(snapshot).includes('tool-call: run') && !nameOf(snapshot).endsWith('unheard');

/** Where what follows depends on the scenario: each gets a recording of its own. */
const isVaried = (name: string): boolean =>
  ['call-model.attempt', 'execute-tools.await-approval', 'execute-tools.run'].includes(name);

/** One moment for each name. */
export function chosenMoments(moments: readonly Moment[]): ReadonlyMap<string, Moment> {
  const byName = new Map<string, Moment>();
  for (const moment of moments) {
    const name = nameOf(moment.snapshot);
    const first = byName.get(name);
    if (!first) byName.set(name, moment);
    else if (isVaried(name) && first.scenario !== moment.scenario) {
      const varied = `${name}.${kebab(moment.scenario)}`;
      if (!byName.has(varied)) byName.set(varied, moment);
    }
  }
  return byName;
}
