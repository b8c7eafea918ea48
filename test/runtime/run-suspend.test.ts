import { createAgent, defineTool, memoryStore, type RunSnapshot } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import { z } from 'zod';
import {
  eventsNamed,
  eventsOf,
  finish,
  gate,
  mailer,
  resultsIn,
  scripted,
  untilEvent,
  uses,
} from './run-kit.ts';

const anotherProcess = (snapshot: RunSnapshot): RunSnapshot => JSON.parse(JSON.stringify(snapshot));

/** Hangs in its first attempt, answers in the next. `seen` holds the key and the number of each. */
function interruptible(effect: 'read' | 'idempotent' | 'once') {
  const seen: string[] = [];
  const { passed: begun, open } = gate<void>();
  const tool = defineTool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    effect,
    run(_input, { attempt, idempotencyKey }) {
      seen.push(`${idempotencyKey} ${attempt}`);
      open();
      return attempt === 1 ? new Promise(() => {}) : 'Done.';
    },
  });
  const { agent } = scripted([uses({ id: 'a', name: 'work' }), 'Ok.'], { tools: [tool] });
  const interrupt = async () => {
    const run = agent.start('Go.', { runId: 'r' });
    await begun;
    return agent.resume(anotherProcess(await run.suspend()));
  };
  return { interrupt, seen };
}

const asking = () => {
  const { tool, sent } = mailer();
  const ask = uses({ id: 'a', name: 'send_mail', input: { to: 'Ada' } });
  const model = scriptedModel(({ body }) => (body.messages.length === 1 ? ask : 'Ok.'));
  const store = memoryStore();
  return { agent: createAgent({ model, tools: [tool], store }), tool, model, sent, store };
};

describe('a suspended run', () => {
  it.each(['read', 'idempotent'] as const)(
    'runs an interrupted call of a tool that is %s again, with the same key',
    async (effect) => {
      const { interrupt, seen } = interruptible(effect);
      const { result, events } = await finish(await interrupt());
      expect(seen).toEqual(['r/1/a 1', 'r/1/a 2']);
      expect(resultsIn(result.messages[2])).toEqual(['a: Done.']);
      expect(eventsNamed(events, 'run.started')).toMatchObject([{ isResumed: true }]);
    },
  );

  it('asks a person what became of an interrupted call of a tool that is once', async () => {
    const { interrupt, seen } = interruptible('once');
    const run = await interrupt();
    expect(await untilEvent(run, 'settlement.wanted')).toMatchObject({ callId: 'a', name: 'work' });
    expect(seen).toEqual(['r/1/a 1']);
    await expect(run.approve('a')).rejects.toMatchObject({ code: 'not_awaiting' });
    await run.settle('a', { content: 'It broke.', isError: true });
    const { result, events } = await finish(run);
    expect(result.messages[2]?.content).toMatchObject([{ content: 'It broke.', is_error: true }]);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'settled' }]);
    expect(seen).toHaveLength(1);
  });

  it('runs such a call again when the person says so', async () => {
    const { interrupt, seen } = interruptible('once');
    const run = await interrupt();
    await run.idle();
    await run.retry('a');
    const { result } = await finish(run);
    expect(seen).toEqual(['r/1/a 1', 'r/1/a 2']);
    expect(resultsIn(result.messages[2])).toEqual(['a: Done.']);
  });

  it('asks its model again, and charges the call that was lost', async () => {
    const { agent, model } = scripted(({ number }) =>
      number === 1 ? { stream: [{ $hang: true }] } : 'Ok.',
    );
    const run = agent.start('Go.');
    await untilEvent(run, 'model.started');
    const { result } = await finish(await agent.resume(anotherProcess(await run.suspend())));
    expect(result).toMatchObject({ status: 'completed', budget: { spend: { turns: 2 } } });
    expect(result.budget.uncertain.outputTokens).toBe(1_024);
    expect(model.requests).toHaveLength(2);
  });

  it('gives the same snapshot again when it is asked later, one that can be resumed', async () => {
    const { agent, sent } = asking();
    const run = agent.start('Go.');
    await run.idle();
    const snapshot = await run.suspend();
    expect(run.snapshot()).toEqual(snapshot);
    expect(await run.suspend()).toEqual(snapshot);
    const again = await agent.resume(anotherProcess(run.snapshot()));
    await again.approve('a');
    await finish(again);
    expect(sent).toEqual(['Ada']);
  });

  it('takes no more decisions in the process that it left', async () => {
    const { agent, sent } = asking();
    const run = agent.start('Go.');
    await run.idle();
    await run.suspend();
    await expect(run.approve('a')).rejects.toMatchObject({ code: 'run_finished' });
    expect(eventsNamed(await eventsOf(run), 'tool.settled')).toEqual([]);
    expect(sent).toEqual([]);
  });

  it('asks again when the tool is not any more what was shown', async () => {
    const { agent, model, tool, sent } = asking();
    const run = agent.start('Go.');
    await run.idle();
    const [shown] = run.pending;
    const snapshot = anotherProcess(await run.suspend());
    const changed = createAgent({ model, tools: [{ ...tool, description: 'Sends it to all.' }] });
    const again = await changed.resume(snapshot);
    await again.approve('a');
    expect(await again.idle()).toBe('waiting');
    expect(sent).toEqual([]);
    expect(again.pending[0]?.waits).not.toEqual(shown?.waits);
    await again.approve('a');
    await finish(again);
    expect(sent).toEqual(['Ada']);
  });

  it('answers a call whose tool is gone', async () => {
    const { agent, model } = asking();
    const run = agent.start('Go.');
    await run.idle();
    const without = createAgent({ model });
    const again = await without.resume(anotherProcess(await run.suspend()));
    await again.approve('a');
    const { result } = await finish(again);
    expect(resultsIn(result.messages[2])[0]).toContain('no longer exists');
  });
});

describe('agent.resume', () => {
  it('knows the runs of its store by their id, and no others', async () => {
    const { agent } = asking();
    const run = agent.start('Go.', { runId: 'r' });
    await run.idle();
    await expect(agent.resume('r')).rejects.toMatchObject({ code: 'run_exists' });
    await expect(agent.resume('another')).rejects.toMatchObject({ code: 'unknown_run' });
    await run.suspend();
    const again = await agent.resume('r');
    await again.deny('a');
    expect((await finish(again)).result.status).toBe('completed');
  });

  it('gives the result of a run that has ended, and does nothing', async () => {
    const { agent, model } = asking();
    const run = agent.start('Go.', { runId: 'r' });
    await run.idle();
    await run.deny('a');
    const { result } = await finish(run);
    const again = await agent.resume('r');
    expect(await again.idle()).toBe('ended');
    expect((await finish(again)).result).toEqual(result);
    expect(model.requests).toHaveLength(2);
  });

  it('refuses the snapshot of a stopped actor, which could never go on', async () => {
    const { agent } = asking();
    const actor = createActor(agent.machine, { input: agent.input('Go.') }).start();
    actor.stop();
    const stopped = actor.getPersistedSnapshot() as unknown as RunSnapshot;
    await expect(agent.resume(stopped)).rejects.toMatchObject({ code: 'snapshot_incompatible' });
  });

  it('lets one of two processes go on, and tells the other', async () => {
    const { agent, model, tool, sent, store } = asking();
    const run = agent.start('Go.', { runId: 'r' });
    await run.idle();
    await run.suspend();
    const one = await agent.resume('r');
    const other = createAgent({ model, tools: [tool], store });
    await expect(other.resume('r')).rejects.toMatchObject({ code: 'run_locked' });
    await one.approve('a');
    expect((await one.result).status).toBe('completed');
    expect(sent).toEqual(['Ada']);
  });

  it('lets nobody save who lost the run to another, lease or no lease', async () => {
    const { agent, model, tool, sent, store } = asking();
    const run = agent.start('Go.', { runId: 'r' });
    await run.idle();
    await run.suspend();
    // A store whose leases mean nothing: what is left is the version of each save.
    const polite: typeof store = { ...store, lease: async () => ({ ok: true }) };
    const one = await createAgent({ model, tools: [tool], store: polite }).resume('r');
    const other = await createAgent({ model, tools: [tool], store: polite }).resume('r');
    await one.approve('a');
    await expect(other.approve('a')).rejects.toMatchObject({ code: 'stale_snapshot' });
    expect((await one.result).status).toBe('completed');
    expect((await other.result).error?.code).toBe('stale_snapshot');
    expect(sent).toEqual(['Ada']);
  });
});
