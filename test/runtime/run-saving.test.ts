import { setImmediate as nextTurn } from 'node:timers/promises';
import { createAgent, memoryStore, type Run, type SaveStep, type Store, type Tool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { finish, gate, gatedTool, mailer, scripted, uses } from './run-kit.ts';

/** A store that tells what it does, and refuses from the n-th save on. */
function loggingStore(log: string[], refusedFrom = Number.POSITIVE_INFINITY): Store {
  const store = memoryStore();
  let saves = 0;
  return {
    ...store,
    async save(steps) {
      saves += 1;
      if (saves >= refusedFrom) {
        log.push('refused');
        throw new Error('disk full');
      }
      log.push('saved');
      return store.save(steps);
    },
  };
}

/** A run of two model calls with a tool in between, which tells what it does to the world. */
function logged(refusedFrom?: number) {
  const log: string[] = [];
  const { tool } = mailer();
  const model = scriptedModel(({ number }) => {
    log.push('model');
    return number === 1 ? uses({ id: 'a', name: 'send_mail', input: { to: 'Ada' } }) : 'Ok.';
  });
  const actAndLog: Tool['run'] = (input, context) => {
    log.push('tool');
    return tool.run(input, context);
  };
  const agent = createAgent({
    model,
    tools: [{ ...tool, run: actAndLog }],
    permissions: { otherwise: 'allow' },
    store: loggingStore(log, refusedFrom),
  });
  return { run: agent.start('Go.'), log };
}

describe('saving', () => {
  it('comes before each effect', async () => {
    const { run, log } = logged();
    expect((await finish(run)).result.status).toBe('completed');
    const effects = log.flatMap((entry, index) => (entry === 'saved' ? [] : [log[index - 1]]));
    expect(effects).toEqual(['saved', 'saved', 'saved']);
    expect(log.at(-1)).toBe('saved');
  });

  it.each([1, 2, 3, 4])(
    'that fails at save %i fails the run, and nothing acts any more',
    async (refusedFrom) => {
      const { run, log } = logged(refusedFrom);
      const { result } = await finish(run);
      expect(result).toMatchObject({ status: 'failed', error: { code: 'store_failed' } });
      expect(result.reason).toContain('disk full');
      const after = log.slice(log.indexOf('refused'));
      expect(after.filter((entry) => entry !== 'refused')).toEqual([]);
    },
  );

  it('of a decision that fails rejects it', async () => {
    const { store, hold } = slowStore();
    const { tool, sent } = mailer();
    const { agent } = scripted([uses({ id: 'a', name: 'send_mail', input: { to: 'Ada' } })], {
      tools: [tool],
      permissions: {},
      store,
    });
    const run = agent.start('Go.');
    await run.idle();
    const release = hold();
    const decided = run.approve('a');
    await nextTurn();
    release('break');
    await expect(decided).rejects.toMatchObject({ code: 'store_failed' });
    expect(sent).toEqual([]);
    expect((await finish(run)).result.status).toBe('failed');
  });
});

describe('what is stored of a run', () => {
  /** A run whose tool works, with a save under way and another change after it. */
  async function betweenTwoSaves() {
    const work = gatedTool();
    const { store, saved, hold } = slowStore();
    const script = [uses({ id: 'a', name: 'work' }), 'Ok.'];
    const { agent } = scripted(script, { tools: [work.tool], store });
    const run = agent.start('Go.', { runId: 'r' });
    await work.begun;
    const release = hold();
    run.steer('First.');
    await nextTurn();
    const changeAgain = (): void => run.steer('Second.');
    return { agent, run, saved, release, changeAgain };
  }

  const finishSettled = async (run: Run) => {
    await run.idle();
    expect(run.pending).toMatchObject([{ callId: 'a', waits: { for: 'settlement' } }]);
    await run.settle('a', { content: 'It was done.' });
    return finish(run);
  };

  it('can be resumed after a suspend, whatever changed while it was being saved', async () => {
    const { agent, run, saved, release, changeAgain } = await betweenTwoSaves();
    const suspended = run.suspend();
    changeAgain();
    release('go on');
    await suspended;
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    expect(saved.map(({ checkpoint }) => checkpoint.status)).not.toContain('stopped');
    const { result } = await finishSettled(await agent.resume('r'));
    expect(result.status).toBe('completed');
  });

  it('can be resumed after a save that failed, and is not overwritten any more', async () => {
    const { agent, run, saved, release, changeAgain } = await betweenTwoSaves();
    changeAgain();
    const before = saved.length;
    release('break');
    expect((await run.result).error?.code).toBe('store_failed');
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    expect(saved).toHaveLength(before);
    const { result } = await finishSettled(await agent.resume('r'));
    expect(result.status).toBe('completed');
  });
});

/** A store whose saves take as long as the test wants, from when it says so. */
function slowStore() {
  const store = memoryStore();
  const saved: SaveStep[] = [];
  let barrier: Promise<'go on' | 'break'> = Promise.resolve('go on');
  const slow: Store = {
    ...store,
    async save(steps) {
      if ((await barrier) === 'break') throw new Error('disk full');
      saved.push(...steps);
      return store.save(steps);
    },
  };
  const hold = () => {
    const { passed, open } = gate<'go on' | 'break'>();
    barrier = passed;
    return (answer: 'go on' | 'break'): void => {
      open(answer);
      barrier = Promise.resolve('go on');
    };
  };
  return { store: slow, saved, hold };
}
