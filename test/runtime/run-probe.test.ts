import {
  createAgent,
  defineTool,
  memoryStore,
  type ProbeContext,
  type Run,
  type RunSnapshot,
  toolOutput,
} from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toWellFormed } from '../../src/core/well-formed.ts';
import { eventsNamed, finish, gate, resultsIn, uses } from './run-kit.ts';

type Probe = (key: string, context: ProbeContext<{ to: string }>) => unknown;
type Definition = Parameters<typeof defineTool>[0];

const anotherProcess = (snapshot: RunSnapshot): RunSnapshot => JSON.parse(JSON.stringify(snapshot));

/** A `once` tool that hangs in its first attempt, so that the process can be left, and its run taken up by another. */
function interruptible(
  probe: Probe | null,
  options: Partial<Definition> = {},
  permissions: Parameters<typeof createAgent>[0]['permissions'] = { otherwise: 'allow' },
) {
  const bodies: string[] = [];
  const begun = gate<void>();
  const tool = defineTool({
    name: 'send',
    description: 'Sends.',
    input: z.object({ to: z.string().trim() }),
    effect: 'once',
    run(_input: unknown, { attempt, idempotencyKey }) {
      bodies.push(`${idempotencyKey} ${attempt}`);
      begun.open();
      return attempt === 1 ? new Promise(() => {}) : 'Sent at last.';
    },
    ...(probe && { probe: probe as never }),
    ...options,
  });
  const ask = uses({ id: 'a', name: 'send', input: { to: ' Ada ' } });
  const model = scriptedModel(({ body }) => (body.messages.length === 1 ? ask : 'Ok.'));
  const agent = createAgent({ model, tools: [tool], permissions, store: memoryStore() });
  const leave = async (run: Run) => anotherProcess(await run.suspend());
  const start = async () => {
    const run = agent.start('Go.', { runId: 'r' });
    if (permissions?.otherwise === 'ask') {
      await run.idle();
      await run.approve('a');
    }
    await begun.passed;
    return run;
  };
  const interrupt = async () => agent.resume(await leave(await start()));
  return { agent, model, tool, bodies, start, leave, interrupt };
}

describe('the probe of a tool', () => {
  it('answers a lost call that happened, which does not run again', async () => {
    const asked: unknown[] = [];
    const { interrupt, bodies } = interruptible((key, { signal, ...rest }) => {
      asked.push([key, rest, signal.aborted]);
      return { happened: true, result: { id: 7 } };
    });
    const { result, events } = await finish(await interrupt());
    expect(result.status).toBe('completed');
    expect(resultsIn(result.messages[2])).toEqual(['a: {"id":7}']);
    expect(asked).toEqual([
      ['r/1/a', { input: { to: 'Ada' }, runId: 'r', callId: 'a', attempt: 1 }, false],
    ]);
    expect(bodies).toEqual(['r/1/a 1']);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ callId: 'a', ending: 'done' }]);
    expect(eventsNamed(events, 'settlement.wanted')).toEqual([]);
  });

  it('lets a call that did not happen run again, with the same key', async () => {
    const { interrupt, bodies } = interruptible(async () => ({ happened: false }));
    const { result } = await finish(await interrupt());
    expect(bodies).toEqual(['r/1/a 1', 'r/1/a 2']);
    expect(resultsIn(result.messages[2])).toEqual(['a: Sent at last.']);
  });

  it('keeps an approval for a call that runs again', async () => {
    const { interrupt, bodies } = interruptible(
      () => ({ happened: false }),
      {},
      {
        otherwise: 'ask',
      },
    );
    const { result, events } = await finish(await interrupt());
    expect(result.status).toBe('completed');
    expect(bodies).toHaveLength(2);
    expect(eventsNamed(events, 'approval.wanted')).toEqual([]);
  });

  it('has its result checked like any other: limited, well-formed, an error as text', async () => {
    const { interrupt } = interruptible(
      () => ({
        happened: true,
        result: toolOutput({ content: `\ud800${'x'.repeat(5_000)}`, isError: true }),
      }),
      { maxOutputChars: 100 },
    );
    const { result } = await finish(await interrupt());
    const [block] = result.messages[2]?.content ?? [];
    if (block?.type !== 'tool_result') throw new Error('No result.');
    expect(block).toMatchObject({ tool_use_id: 'a', is_error: true });
    expect(String(block.content).length).toBeLessThan(250);
    expect(String(block.content)).toBe(toWellFormed(String(block.content)));
  });

  const trap = new Proxy({}, { get: () => Promise.reject.call(null) });
  it.each<[string, Probe]>([
    ['says so', () => ({ happened: 'unknown' })],
    ['says nothing', () => undefined],
    ['says null', () => null],
    ['says only yes', () => true],
    ['says no in a word', () => 'no'],
    ['says what is no boolean', () => ({ happened: 0 })],
    ['says an empty object', () => ({})],
    ['gives an object that throws when it is read', () => trap],
    [
      'throws at once',
      () => {
        throw new Error('down');
      },
    ],
    ['throws nothing', () => Promise.reject(undefined)],
    ['never answers', () => new Promise(() => {})],
  ])('that %s leaves the call to a person', async (_name, probe) => {
    const { interrupt, bodies } = interruptible(probe, { timeoutMs: 20 });
    const run = await interrupt();
    expect(await run.idle()).toBe('waiting');
    expect(run.pending).toMatchObject([{ callId: 'a', waits: { for: 'settlement' } }]);
    expect(bodies).toHaveLength(1);
    await run.settle('a', { content: 'It was sent.' });
    const { events } = await finish(run);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'settled' }]);
  });

  it('is told when its time is up', async () => {
    const signals: AbortSignal[] = [];
    const { interrupt } = interruptible(
      (_key, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
      { timeoutMs: 20 },
    );
    const run = await interrupt();
    await run.idle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    run.cancel();
    await finish(run);
  });

  it('is asked again by the next process when this one dies meanwhile', async () => {
    const looked = gate<void>();
    let times = 0;
    const { agent, interrupt, leave, bodies } = interruptible(() => {
      times += 1;
      looked.open();
      return times === 1 ? new Promise(() => {}) : { happened: true, result: 'It was sent.' };
    });
    const run = await interrupt();
    await looked.passed;
    expect(run.state).toBe('executeTools.working');
    const { result } = await finish(await agent.resume(await leave(run)));
    expect(resultsIn(result.messages[2])).toEqual(['a: It was sent.']);
    expect([times, bodies.length]).toEqual([2, 1]);
  });

  it('is stopped with its run, and its call may have taken effect', async () => {
    const looked = gate<AbortSignal>();
    const { interrupt } = interruptible((_key, { signal }) => {
      looked.open(signal);
      return new Promise(() => {});
    });
    const run = await interrupt();
    const signal = await looked.passed;
    run.cancel();
    const { result, events } = await finish(run);
    expect(signal.aborted).toBe(true);
    expect(resultsIn(result.messages[2])[0]).toContain('may have taken effect');
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'stopped' }]);
  });

  it('is today’s: one that was added since is asked', async () => {
    const { model, tool, start, leave, bodies } = interruptible(null);
    const snapshot = await leave(await start());
    const probe = () => ({ happened: true, result: 'Found.' });
    const today = createAgent({ model, tools: [{ ...tool, probe }] });
    const { result } = await finish(await today.resume(snapshot));
    expect(resultsIn(result.messages[2])).toEqual(['a: Found.']);
    expect(bodies).toHaveLength(1);
  });

  it('of a tool that is gone can’t be asked', async () => {
    const { model, start, leave } = interruptible(() => ({ happened: true, result: 'Found.' }));
    const snapshot = await leave(await start());
    const run = await createAgent({ model }).resume(snapshot);
    expect(await run.idle()).toBe('waiting');
    run.cancel();
    await finish(run);
  });

  it.each([
    ['nobody says what it cost', 'Sent.', 0, 0.5],
    ['its result says what it cost', toolOutput({ content: 'Sent.', costUsd: 0.2 }), 0.2, 0],
  ])('accounts for a call that happened: %s', async (_name, output, spent, uncertain) => {
    const { interrupt } = interruptible(() => ({ happened: true, result: output }), {
      maxCostUsd: 0.5,
    });
    const { result } = await finish(await interrupt());
    expect(result.budget.uncertain.costUsd).toBe(uncertain);
    expect(result.budget.spend.costUsd).toBeGreaterThanOrEqual(spent + uncertain);
    expect(result.budget.spend.costUsd).toBeLessThan(spent + uncertain + 0.1);
  });
});

describe('an interrupted call that nobody knows of', () => {
  it.each<[string, Probe | null]>([
    ['without a probe', null],
    ['with one that does not know', () => ({ happened: 'unknown' })],
  ])('is reported to the model where that is wanted: %s', async (_name, probe) => {
    const { interrupt, bodies, model } = interruptible(probe, {
      onInterrupted: 'report',
      maxCostUsd: 0.5,
    });
    const { result, events } = await finish(await interrupt());
    expect(result.status).toBe('completed');
    expect(resultsIn(result.messages[2])[0]).toMatch(/^a: The outcome of this call is unknown/);
    expect(result.messages[2]?.content).toMatchObject([{ is_error: true }]);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'unknown' }]);
    expect(eventsNamed(events, 'settlement.wanted')).toEqual([]);
    expect(result.budget.uncertain.costUsd).toBe(0.5);
    expect(bodies).toHaveLength(1);
    expect(model.requests).toHaveLength(2);
  });

  it('keeps the policy that its run began with', async () => {
    const { model, tool, start, leave } = interruptible(null);
    const snapshot = await leave(await start());
    const today = createAgent({ model, tools: [{ ...tool, onInterrupted: 'report' }] });
    const run = await today.resume(snapshot);
    expect(await run.idle()).toBe('waiting');
    run.cancel();
    await finish(run);
  });
});
