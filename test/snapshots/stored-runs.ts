/** The runs of the recorded store: each left in another state, and how it ends when it is resumed. */
import type { Store } from 'pawl';
import { newWorld, playOf, type ScenarioName, type World } from './scenarios.ts';

export interface RecordedRun {
  readonly runId: string;
  readonly scenario: ScenarioName;
  /** As the list of the store has it. */
  readonly status: string;
  readonly state: string;
  /** What had begun when it was left. */
  readonly begun: readonly string[];
  readonly ends: string;
  readonly text: string;
}

const done = 'All is done.';

export const recordedRuns: readonly RecordedRun[] = [
  left('answer', 'completed', 'completed', 'completed', done),
  left('approval', 'waiting', 'executeTools.waiting', 'completed', done),
  left('budget', 'waiting', 'awaitBudget', 'completed', done),
  left('exhausted', 'exhausted', 'exhausted', 'exhausted', ''),
  left('failed', 'failed', 'failed', 'failed', ''),
  left('paused', 'waiting', 'paused', 'completed', done),
  left('probed', 'running', 'executeTools.working', 'completed', done, ['pay pay_1/1']),
  left('reported', 'running', 'executeTools.working', 'completed', done, ['call call_1/1']),
];

function left(
  scenario: ScenarioName,
  status: string,
  state: string,
  ends: string,
  text: string,
  begun: readonly string[] = [],
): RecordedRun {
  return { runId: scenario, scenario, status, state, ends, text, begun };
}

/** The world that a run of the store was left in. */
export const worldOf = ({ begun }: RecordedRun): World => ({ ...newWorld(), begun: [...begun] });

export async function recordStore(store: Store): Promise<void> {
  for (const { scenario, status } of recordedRuns) {
    const world = newWorld();
    // What is left running must not come to its end.
    const hold = status === 'running' ? new Promise(() => {}) : undefined;
    const run = playOf(scenario, world, { store, ...(hold && { hold }) }).start({
      tags: ['recorded'],
    });
    if (status === 'running') await untilBegun(world);
    else if (scenario === 'paused') run.pause();
    if (status !== 'running') await run.idle();
    await run.suspend();
  }
}

async function untilBegun({ begun }: World): Promise<void> {
  while (begun.length === 0) await new Promise((resolve) => setImmediate(resolve));
}
