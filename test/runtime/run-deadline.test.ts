import { createAgent, memoryStore, type RunSnapshot } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createActor, toPromise } from 'xstate';
import { eventsNamed, finish, gatedTool, mailer, resultsIn, scripted, uses } from './run-kit.ts';

const hour = 3_600_000;
const inAnHour = (): Date => new Date(Date.now() + hour);
const anotherProcess = (snapshot: RunSnapshot): RunSnapshot => JSON.parse(JSON.stringify(snapshot));
/** Timers measure on: what they wait for is looked at when a minute has passed, or when they are new. */
const hoursPass = (hours: number): void => {
  vi.setSystemTime(Date.now() + hours * hour);
};
const childrenOf = ({ children }: RunSnapshot): readonly string[] => Object.keys(children ?? {});

/** A run whose first call waits for an approval, in a store that any process may open. */
function asking(options: Partial<Parameters<typeof createAgent>[0]> = {}) {
  const { tool, sent } = mailer();
  const ask = uses({ id: 'a', name: 'send_mail', input: { to: 'Ada' } });
  const model = scriptedModel(({ body }) => (body.messages.length === 1 ? ask : 'Ok.'));
  const agent = createAgent({ model, tools: [tool], store: memoryStore(), ...options });
  return { agent, model, sent };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a deadline', () => {
  it('stops a tool that works, and answers it', async () => {
    const work = gatedTool({ timeoutMs: 10 * hour });
    const { agent } = scripted([uses({ id: 'a', name: 'work' })], {
      tools: [work.tool],
      budget: { deadlineAt: inAnHour() },
    });
    const run = agent.start('Go.');
    await work.begun;
    await vi.advanceTimersByTimeAsync(hour - 1);
    expect(work.signals[0]?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const { result, events } = await finish(run);
    expect(work.signals[0]?.aborted).toBe(true);
    expect(result).toMatchObject({
      status: 'exhausted',
      error: { code: 'run_timeout' },
      limit: { name: 'deadlineAt', max: 1_800_003_600_000 },
      reason:
        'The limit deadlineAt was reached: the deadline was 2027-01-15T09:00:00.000Z, and it was 2027-01-15T09:00:00.000Z.',
    });
    expect(resultsIn(result.messages[2])[0]).toMatch(/reached its deadline.*may have taken effect/);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'stopped' }]);
  });

  it('ends a run that waits for a person, and leaves no timer', async () => {
    const { agent, sent } = asking();
    const run = agent.start('Go.', { budget: { deadlineAt: inAnHour() } });
    expect(await run.idle()).toBe('waiting');
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(hour);
    const { result } = await finish(run);
    expect(result).toMatchObject({ status: 'exhausted', limit: { name: 'deadlineAt' } });
    expect(resultsIn(result.messages[2])).toEqual([
      'a: Not executed: The run has reached its deadline.',
    ]);
    expect(sent).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends a paused run', async () => {
    const { agent } = scripted(['Never.', 'Ok.'], { budget: { deadlineAt: inAnHour() } });
    const run = agent.start('Go.');
    run.steer('And more.');
    run.pause();
    await run.idle();
    expect(run.state).toBe('paused');
    await vi.advanceTimersByTimeAsync(hour);
    expect((await finish(run)).result.limit?.name).toBe('deadlineAt');
  });

  it('leaves no timer to a run that ends before it', async () => {
    const { agent } = scripted(['Ok.'], { budget: { deadlineAt: inAnHour() } });
    expect((await finish(agent.start('Go.'))).result.status).toBe('completed');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('costs a run without one nothing: no timer, nothing watched', async () => {
    const { agent } = asking();
    const run = agent.start('Go.');
    await run.idle();
    expect(vi.getTimerCount()).toBe(0);
    expect(childrenOf(run.snapshot())).toEqual(['tool.a']);
    run.cancel();
    await finish(run);
  });

  it.each([
    ['ends it', 'stop', 'exhausted', []],
    ['leaves it a last answer', 'wrapUp', 'exhausted', ['none']],
  ] as const)('that has passed before the start %s', async (_, onLimit, status, choices) => {
    const { agent, model } = scripted(['What I know.'], { onLimit });
    const deadlineAt = Date.now() - 1;
    const { result } = await finish(agent.start('Go.', { budget: { deadlineAt } }));
    expect(result).toMatchObject({ status, limit: { name: 'deadlineAt', max: deadlineAt } });
    expect(result.limit?.used).toBe(Date.now());
    expect(result.budget.uncertain.outputTokens).toBe(0);
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(choices);
  });

  it.each([
    [1_800_000_000, 'of seconds lies in 1970, and the message shows it', '1970-01-21'],
    [0, 'of 0 has passed', '1970-01-01'],
  ])('%d %s', async (deadlineAt, _, shown) => {
    const { agent } = scripted(['Never.']);
    const { result } = await finish(agent.start('Go.', { budget: { deadlineAt } }));
    expect(result.reason).toContain(shown);
  });

  it('is asked for under ask, and the run goes on with a later one', async () => {
    const { agent, sent } = asking({ onLimit: 'ask', budget: { deadlineAt: inAnHour() } });
    const run = agent.start('Go.');
    await run.idle();
    await vi.advanceTimersByTimeAsync(hour);
    expect(run.state).toBe('awaitBudget');
    run.raiseBudget({ deadlineAt: Date.now() - 1 });
    expect(run.state).toBe('awaitBudget');
    run.raiseBudget({ deadlineAt: inAnHour() });
    const { result, events } = await finish(run);
    expect(result).toMatchObject({ status: 'completed', limit: null });
    expect(eventsNamed(events, 'budget.wanted')[0]).toMatchObject({
      limit: { name: 'deadlineAt' },
    });
    expect(sent).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('follows when it is moved while the run goes on', async () => {
    const { agent } = asking();
    const run = agent.start('Go.', { budget: { deadlineAt: inAnHour() } });
    await run.idle();
    run.raiseBudget({ deadlineAt: new Date(Date.now() + 3 * hour) });
    await vi.advanceTimersByTimeAsync(2 * hour);
    expect(run.state).toBe('executeTools.waiting');
    expect(vi.getTimerCount()).toBe(1);
    run.raiseBudget({ deadlineAt: Number.POSITIVE_INFINITY });
    expect(vi.getTimerCount()).toBe(0);
    run.raiseBudget({ deadlineAt: Date.now() });
    expect((await finish(run)).result.limit?.name).toBe('deadlineAt');
  });

  it('that passed while no process had the run ends it at once in the next one', async () => {
    const { agent, model } = asking();
    const run = agent.start('Go.', { budget: { deadlineAt: inAnHour() } });
    await run.idle();
    const snapshot = anotherProcess(await run.suspend());
    expect(vi.getTimerCount()).toBe(0);
    hoursPass(2);
    const { result } = await finish(await agent.resume(snapshot));
    expect(result).toMatchObject({ status: 'exhausted', limit: { name: 'deadlineAt' } });
    expect(model.requests).toHaveLength(1);
  });

  it('that passed is what resumeAll takes a waiting run up for, and nothing else', async () => {
    const store = memoryStore();
    const { agent } = asking({ store });
    const soon = agent.start('Go.', { runId: 'soon', budget: { deadlineAt: inAnHour() } });
    const never = agent.start('Go.', { runId: 'never' });
    for (const run of [soon, never]) {
      await run.idle();
      await run.suspend();
    }
    expect(await agent.resumeAll()).toEqual([]);
    hoursPass(2);
    const overdue = await asking({ store }).agent.resumeAll();
    expect(overdue.map(({ id }) => id)).toEqual(['soon']);
    for (const run of overdue) expect((await finish(run)).result.limit?.name).toBe('deadlineAt');
    expect((await store.load('soon'))?.head).not.toHaveProperty('deadlineAtMs');
  });

  it('that passed while a model call was lost leaves it lost', async () => {
    const { agent, model } = scripted([{ stream: [{ $hang: true }] }, 'Never.'], {
      budget: { deadlineAt: inAnHour() },
      store: memoryStore(),
    });
    const run = agent.start('Go.');
    await vi.waitFor(() => expect(model.requests).toHaveLength(1));
    const snapshot = anotherProcess(await run.suspend());
    hoursPass(2);
    const { result } = await finish(await agent.resume(snapshot));
    expect(result).toMatchObject({ status: 'exhausted', limit: { name: 'deadlineAt' } });
    expect(model.requests).toHaveLength(1);
  });

  it('is kept by a run that waits in another process', async () => {
    const { agent } = asking();
    const run = agent.start('Go.', { budget: { deadlineAt: inAnHour() } });
    await run.idle();
    const again = await agent.resume(anotherProcess(await run.suspend()));
    await again.idle();
    await vi.advanceTimersByTimeAsync(hour - 1);
    expect(again.state).toBe('executeTools.waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect((await finish(again)).result.limit?.name).toBe('deadlineAt');
  });

  it('holds for a run that was exhausted by another limit and goes on', async () => {
    const { agent } = asking({ budget: { maxTurns: 0, deadlineAt: inAnHour() } });
    const { result } = await finish(agent.start('Go.', { runId: 'r' }));
    expect(result.limit?.name).toBe('maxTurns');
    const again = await agent.resume('r', { budget: { maxTurns: 5 } });
    await again.idle();
    expect(childrenOf(again.snapshot())).toContain('deadline');
    await vi.advanceTimersByTimeAsync(hour);
    expect((await finish(again)).result.limit?.name).toBe('deadlineAt');
  });

  it('ends an exhausted run that goes on once more, unless it is put off', async () => {
    const { agent, model } = asking({ budget: { deadlineAt: inAnHour() } });
    const run = agent.start('Go.', { runId: 'r' });
    await run.idle();
    await vi.advanceTimersByTimeAsync(hour);
    await finish(run);
    const early = await agent.resume('r', { budget: { maxTurns: 99 } });
    expect((await finish(early)).result.limit?.name).toBe('deadlineAt');
    expect(model.requests).toHaveLength(1);
    const later = await agent.resume('r', { budget: { deadlineAt: inAnHour() } });
    expect((await finish(later)).result.status).toBe('completed');
  });

  it.each([
    ['ends a fork', undefined, 'exhausted', 1],
    ['that is put off lets a fork go on', 2, 'completed', 2],
  ] as const)('%s', async (_, hours, status, requests) => {
    const { agent, model } = scripted(['Ok.', 'Ok.'], {
      budget: { deadlineAt: inAnHour() },
      store: memoryStore(),
    });
    await finish(agent.start('Go.', { runId: 'r' }));
    hoursPass(2);
    const budget = hours && { deadlineAt: new Date(Date.now() + hours * hour) };
    const forked = await agent.fork('r', { atTurn: 1, ...(budget && { budget }) });
    const { result } = await finish(forked);
    expect(result.status).toBe(status);
    expect(result.budget.uncertain.outputTokens).toBe(0);
    expect(model.requests).toHaveLength(requests);
  });

  it('holds in a plain actor', async () => {
    const { agent } = asking();
    const input = agent.input('Go.', { budget: { deadlineAt: inAnHour() } });
    const actor = createActor(agent.machine, { input }).start();
    await vi.waitFor(() => expect(actor.getSnapshot().hasTag('waitsForHuman')).toBe(true));
    await vi.advanceTimersByTimeAsync(hour);
    expect(await toPromise(actor)).toMatchObject({ limit: { name: 'deadlineAt' } });
    expect(vi.getTimerCount()).toBe(0);
  });
});
