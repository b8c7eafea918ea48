import { createAgent, memoryStore, remoteRun, type Store } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { finish, gatedTool, mailer, scripted, uses } from './run-kit.ts';

const mail = uses({ id: 'a', name: 'send_mail', input: { to: 'Ada' } });

/** A store with a run that waits for an approval, and that nobody has. */
async function withWaitingRun(name?: string): Promise<Store> {
  const store = memoryStore();
  const run = asking(store, name).start('Go.', { runId: 'r' });
  await run.idle();
  await run.suspend();
  return store;
}

const asking = (store: Store, name?: string) =>
  createAgent({
    model: scriptedModel(({ body }) => (body.messages.length === 1 ? mail : 'Ok.')),
    tools: [mailer().tool],
    store,
    ...(name !== undefined && { name }),
  });

/** Whether somebody holds the run. */
const isHeld = async (store: Store): Promise<boolean> =>
  !(await store.lease('r', 'somebody else', 0, Date.now())).ok;

const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error) => error.code,
  );

describe('a run that is taken up', () => {
  it('belongs to the first who asks, whose lease the second one leaves alone', async () => {
    const store = await withWaitingRun();
    const agent = asking(store);
    const codes = await Promise.all([codeOf(agent.resume('r')), codeOf(agent.resume('r'))]);
    expect(codes.sort()).toEqual([null, 'run_exists']);
    expect(await isHeld(store)).toBe(true);
    expect(await codeOf(agent.resume('r'))).toBe('run_exists');
    expect(await isHeld(store)).toBe(true);
  });

  it('is taken up once by two who take up all', async () => {
    const store = await withWaitingRun();
    await remoteRun(store, 'r').approve('a');
    const agent = asking(store);
    const [one, other] = await Promise.all([agent.resumeAll(), agent.resumeAll()]);
    const runs = [...one, ...other];
    expect(runs.map(({ id }) => id)).toEqual(['r']);
    for (const run of runs) expect((await finish(run)).result.status).toBe('completed');
  });

  it('is given back when it can not go on as it is asked to', async () => {
    const store = await withWaitingRun();
    const unpriced = { ...scriptedModel(['x']), price: null };
    const agent = createAgent({ model: unpriced, tools: [mailer().tool], store });
    const run = agent.start('Go.', { runId: 'unpriced' });
    await finish(run);
    const refused = agent.resume('r', { budget: { maxCostUsd: Number.NaN } });
    expect(await codeOf(refused)).toBe('invalid_input');
    const unaffordable = agent.resume('unpriced', { budget: { maxCostUsd: 1 } });
    expect(await codeOf(unaffordable)).toBe('invalid_input');
    for (const id of ['r', 'unpriced']) {
      expect(await store.lease(id, 'somebody else', 0, Date.now())).toEqual({ ok: true });
    }
  });

  it('is taken up by agents of its own name only', async () => {
    const store = await withWaitingRun('accountant');
    await remoteRun(store, 'r').approve('a');
    expect(await asking(store, 'poet').resumeAll()).toEqual([]);
    expect(await asking(store).resumeAll()).toEqual([]);
    const [run] = await asking(store, 'accountant').resumeAll();
    expect(run?.id).toBe('r');
    await run?.result;
  });

  it('goes on after a process that was killed while it drained', async () => {
    const kept = memoryStore();
    const { tool, begun, finish: letGo } = gatedTool();
    let isDead = false;
    const dying: Store = {
      ...kept,
      async save(steps) {
        if (isDead) return new Promise(() => {});
        const refused = await kept.save(steps);
        isDead = JSON.stringify(steps).includes('"isPauseWanted":true');
        return isDead ? new Promise(() => {}) : refused;
      },
    };
    const script = [uses({ id: 'w', name: 'work' }), 'Done.'];
    const { agent } = scripted(script, { tools: [tool], store: dying });
    agent.start('Go.', { runId: 'r' });
    await begun;
    void agent.drain({ graceMs: 60_000 });
    await expect.poll(() => isDead).toBe(true);
    letGo('worked');

    // Its lease has run out.
    const next: Store = { ...kept, lease: async () => ({ ok: true }) };
    const { agent: other } = scripted(['Done.'], { tools: [tool], store: next });
    const [run] = await other.resumeAll();
    await run?.idle();
    await run?.settle('w', { content: 'worked' });
    expect(await run?.idle()).toBe('ended');
    expect((await run?.result)?.status).toBe('completed');
  });
});

describe('a run that others speak to', () => {
  it('is in the store as waiting once it is idle', async () => {
    const store = memoryStore();
    const run = asking(store).start('Go.', { runId: 'r' });
    await run.idle();
    await remoteRun(store, 'r').approve('a');
    expect((await run.result).status).toBe('completed');
  });

  it('hears one word about each call, and whoever says another is told', async () => {
    const store = await withWaitingRun();
    const remote = remoteRun(store, 'r');
    await remote.approve('a');
    for (const again of [() => remote.approve('a'), () => remote.deny('a', 'No.')]) {
      expect(await codeOf(again())).toBe('not_awaiting');
    }
    const run = await asking(store).resume('r');
    expect((await run.result).status).toBe('completed');
  });

  it.each<[string, (remote: ReturnType<typeof remoteRun>) => Promise<unknown>]>([
    ['a reason to cancel', (remote) => remote.cancel(123 as never)],
    ['a call to retry', (remote) => remote.retry(7 as never)],
  ])('refuses %s that is no text', async (_, say) => {
    const store = await withWaitingRun();
    expect(await codeOf(say(remoteRun(store, 'r')))).toBe('invalid_input');
    expect(await store.posted(['r'])).toEqual([]);
  });
});
