import type { Agent } from '../../src/runtime/agent.ts';
import type { Run } from '../../src/runtime/run.ts';
import type { RunResult } from '../../src/runtime/run-result.ts';
import type { Store } from '../../src/stores/store.ts';
import { answerAll } from './person.ts';
import { type BudgetName, crashAgent, prompt, runId } from './scenario.ts';
import type { World } from './world.ts';

/** Begins the run, or goes on with it where it was left, and plays it to its end. */
export async function live(store: Store, world: World, budget: BudgetName): Promise<RunResult> {
  const agent = crashAgent(store, world, budget);
  const run = (await store.load(runId)) ? await goOn(agent) : agent.start(prompt, { runId });
  await answerAll(run, store, world);
  const result = await run.result;
  const { status, error, messages, budget: account } = result;
  world.note({
    what: 'ended',
    status,
    error: error?.code ?? null,
    messages,
    costMicros: Math.round(account.spend.costUsd * 1e6),
    turns: account.spend.turns,
  });
  return result;
}

/** What was in flight is taken up by itself; what waits for a person, or has ended, by its id. */
async function goOn(agent: Agent): Promise<Run> {
  const [run] = await agent.resumeAll();
  return run ?? agent.resume(runId);
}
