/** Plays on from a broken snapshot or row, and says what it did. */
import { type Agent, PawlError, type Run, type RunSnapshot, type Store } from 'pawl';
import { expect } from 'vitest';
import { committed, type Ledger } from '../../src/core/ledger.ts';
import type { RunContext } from '../../src/core/run-context.ts';
import { copyOfWorld, playOf, type ScenarioName, type World } from '../snapshots/scenarios.ts';

export interface Attempt {
  readonly scenario: ScenarioName;
  readonly world: World;
  /** Asked for again once a run went on. Default: an empty store. */
  readonly makeStore?: () => Promise<Store>;
  /** What the agent is asked to go on with. */
  readonly run: string | RunSnapshot;
}

/** Agents that have refused all they were asked for so far: nothing has happened in their worlds. */
const unused = new Map<World, { readonly agent: Agent; readonly world: World }>();

async function agentIn({ scenario, world: before, makeStore }: Attempt) {
  const known = unused.get(before);
  if (known) return known;
  const world = copyOfWorld(before);
  const store = await makeStore?.();
  const { agent } = playOf(scenario, world, store && { store });
  unused.set(before, { agent, world });
  return { agent, world };
}

/** The error of a refusal; null when the run went on. Whatever else is thrown fails the test. */
export async function resumeBroken(attempt: Attempt): Promise<PawlError | null> {
  const { world: before, run } = attempt;
  const { agent, world } = await agentIn(attempt);
  const resumed = await resumeOrRefuse(agent, run);
  if (PawlError.is(resumed)) {
    expect(world).toEqual(before);
    return resumed;
  }
  unused.delete(before);
  const already = ledgerOf(resumed);
  await endWithin(10_000, resumed, () => playOut(resumed));
  expectHonest(ledgerOf(resumed), already, before, world);
  return null;
}

async function resumeOrRefuse(agent: Agent, run: string | RunSnapshot): Promise<Run | PawlError> {
  try {
    return await agent.resume(run);
  } catch (error) {
    if (PawlError.is(error)) return error;
    throw error;
  }
}

/** A few rounds of a person who says yes, then an end. */
async function playOut(run: Run): Promise<void> {
  for (let round = 0; round < 6 && (await run.idle()) === 'waiting'; round += 1) {
    if (run.state === 'paused') run.resume();
    if (run.state === 'awaitBudget') run.raiseBudget({ maxTurns: 20 });
    for (const { callId, waits } of run.pending) {
      const said =
        waits.for === 'approval' ? run.approve(callId) : run.settle(callId, { content: 'Done.' });
      await said.catch(() => {});
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  run.cancel('The test is over.');
  await run.result;
}

async function endWithin(ms: number, run: Run, play: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The run hangs in ${run.state}.`)), ms);
  });
  await Promise.race([play(), late]).finally(() => clearTimeout(timer));
}

const ledgerOf = (run: Run): Ledger => (run.snapshot().context as unknown as RunContext).ledger;

const isOnce = (begun: string): boolean => /^(push|send|pay|call) /.test(begun);

/** No body of a `once` tool began twice, and nothing was spent that no limit leaves room for. */
function expectHonest(now: Ledger, then: Ledger, before: World, { begun }: World): void {
  const calls = begun.filter(isOnce).map((text) => text.replace(/\/\d+$/, ''));
  expect(calls).toEqual([...new Set(calls)]);
  expect(begun.slice(0, before.begun.length)).toEqual(before.begun);
  const { limits } = now;
  const spent = committed(now);
  const already = committed(then);
  for (const [name, amount, most] of [
    ['maxTurns', spent.turns, already.turns],
    ['maxInputTokens', spent.inputTokens, already.inputTokens],
    ['maxOutputTokens', spent.outputTokens, already.outputTokens],
    ['maxCostMicros', spent.costMicros, already.costMicros],
  ] as const) {
    const max = limits[name];
    if (max !== null) expect(amount, name).toBeLessThanOrEqual(Math.max(max, most));
  }
}
