import { setImmediate as nextTurn } from 'node:timers/promises';
import { defineTool, memoryStore, type Run, type Store, type Tool, toolOutput } from 'pawl';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { RunContext } from '../../src/core/run-context.ts';
import {
  echo,
  eventsNamed,
  finish,
  gate,
  gatedTool,
  resultsIn,
  scripted,
  untilEvent,
  uses,
} from './run-kit.ts';

const anything = z.object({});
const quickly = {
  name: 'quick',
  description: 'A test.',
  input: anything,
  effect: 'once',
  timeoutMs: 10,
} as const;

/** A tool without input that does this. */
const tool = (name: string, run: Tool['run'], options: { readonly maxRetries?: number } = {}) =>
  defineTool({ name, description: 'A test.', input: anything, effect: 'read', run, ...options });

/** Counts how many of its calls are under way at once. */
function busyTool(name: string, concurrency?: number) {
  const seen = { now: 0, most: 0 };
  const busy = defineTool({
    name,
    description: 'Is busy for a few turns of the event loop.',
    input: anything,
    effect: 'read',
    ...(concurrency !== undefined && { concurrency }),
    async run() {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      seen.now -= 1;
      return 'Done.';
    },
  });
  return { busy, seen };
}

const calls = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => ({ id: `${name}_${index}`, name }));

describe('tool calls', () => {
  it('are answered in one message, in the order of the calls, whichever ends first', async () => {
    const slow = gatedTool({ name: 'slow' });
    const { agent, model } = scripted(
      [uses({ id: 'a', name: 'slow' }, { id: 'b', name: 'echo', input: { text: 'quick' } }), 'Ok.'],
      { tools: [slow.tool, echo] },
    );
    const run = agent.start('Go.');
    expect((await untilEvent(run, 'tool.settled')).callId).toBe('b');
    slow.finish('slow');
    await finish(run);
    expect(resultsIn(model.requests[1]?.messages[2])).toEqual(['a: slow', 'b: quick']);
    expect(model.requests[1]?.messages).toHaveLength(3);
  });

  it('tell their progress while they run', async () => {
    const counting = tool('count', (_input, { progress }) => {
      progress({ done: 1 });
      progress('nearly');
      return 'Counted.';
    });
    const { agent } = scripted([uses({ id: 'a', name: 'count' }), 'Ok.'], { tools: [counting] });
    const { events } = await finish(agent.start('Go.'));
    const progress = eventsNamed(events, 'tool.progress');
    expect(progress.map(({ value }) => value)).toEqual([{ done: 1 }, 'nearly']);
  });

  it('get a key of their own, and the attempt', async () => {
    const seen: unknown[] = [];
    const noting = tool('note', (_input, { idempotencyKey, attempt, callId, runId }) => {
      seen.push({ idempotencyKey, attempt, callId, runId });
    });
    const { agent } = scripted([uses({ id: 'a', name: 'note' }), 'Ok.'], { tools: [noting] });
    await finish(agent.start('Go.', { runId: 'r' }));
    expect(seen).toEqual([{ idempotencyKey: 'r/1/a', attempt: 1, callId: 'a', runId: 'r' }]);
  });

  it.each([
    ['throws before it returns', () => raise(new Error('no paper')), 'no paper'],
    ['rejects', async () => raise(new Error('no ink')), 'no ink'],
    ['throws what is no error', () => raise('just a word'), 'just a word'],
    ['throws nothing at all', () => raise(undefined), 'undefined'],
    [
      'returns an error',
      () => toolOutput({ content: 'out of order', isError: true }),
      'out of order',
    ],
  ])('become an error result when the tool %s', async (_name, run, why) => {
    const { agent } = scripted([uses({ id: 'a', name: 'bad' }), 'Ok.'], {
      tools: [tool('bad', run)],
    });
    const { result } = await finish(agent.start('Go.'));
    expect(result.status).toBe('completed');
    expect(result.messages[2]?.content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: expect.stringContaining(why),
        is_error: true,
      },
    ]);
  });

  it('are tried again as often as the tool allows', async () => {
    const flaky = tool(
      'flaky',
      (_input, { attempt }) => (attempt < 3 ? raise(new Error('not yet')) : `try ${attempt}`),
      { maxRetries: 2 },
    );
    const { agent } = scripted([uses({ id: 'a', name: 'flaky' }), 'Ok.'], {
      tools: [flaky],
      retry: { baseMs: 1 },
    });
    const { result, events } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[2])).toEqual(['a: try 3']);
    const started = eventsNamed(events, 'tool.started');
    expect(started.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  it('are answered at their timeout, and what comes later is dropped', async () => {
    const late = gatedTool({ timeoutMs: 1 });
    const { agent } = scripted([uses({ id: 'a', name: 'work' }), 'Ok.'], { tools: [late.tool] });
    const { result, events } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[2])).toEqual([
      'a: The tool "work" timed out after 1 ms. It was stopped before its result was known, so it may have taken effect.',
    ]);
    expect(late.signals[0]?.aborted).toBe(true);
    late.finish('too late');
    await nextTurn();
    expect(eventsNamed(events, 'tool.settled')).toHaveLength(1);
    expect(JSON.stringify(result.messages)).not.toContain('too late');
  });

  it('go on when their progress can not be told as it is', async () => {
    const circular: Record<string, unknown> = { note: 'my key' };
    circular.self = circular;
    const telling = tool('tell', (_input, { progress }) => {
      progress(circular);
      return 'Told.';
    });
    const { agent } = scripted([uses({ id: 'a', name: 'tell' }), 'Ok.'], {
      tools: [telling],
      secrets: ['key'],
    });
    const { result, events } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[2])).toEqual(['a: Told.']);
    expect(eventsNamed(events, 'tool.progress')).toMatchObject([
      { value: { note: 'my [redacted]', self: '[Circular]' } },
    ]);
  });

  it('whose input can not be checked in time have failed, and cost nothing', async () => {
    const hangs = defineTool({
      name: 'hangs',
      description: 'Its check never ends.',
      input: z.object({}).refine(() => never()),
      effect: 'once',
      timeoutMs: 10,
      maxCostUsd: 1,
      run: () => 'Done.',
    });
    const { agent } = scripted([uses({ id: 'a', name: 'hangs' }), 'Ok.'], { tools: [hangs] });
    const { result, events } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[2])).toEqual([
      'a: The input could not be checked within 10 ms.',
    ]);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'failed' }]);
    expect(eventsNamed(events, 'tool.started')).toEqual([]);
    expect(result.budget.uncertain.costUsd).toBe(0);
  });

  it('that the policy does not answer for in time are denied', async () => {
    const hangs = defineTool({ ...quickly, run: () => 'Done.' });
    const { agent } = scripted([uses({ id: 'a', name: 'quick' }), 'Ok.'], {
      tools: [hangs],
      permissions: { deny: [{ tool: 'quick', when: never }], otherwise: 'allow' },
    });
    const { result, events } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[2])).toEqual([
      'a: Denied: the policy of this agent did not answer within 10 ms.',
    ]);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'denied' }]);
  });

  it.each([
    [
      'input can not be checked any more',
      { parses: 2, rules: 9 },
      'could not be checked',
      'notRun',
    ],
    ['policy does not answer any more', { parses: 9, rules: 1 }, 'did not answer', 'denied'],
  ])('whose %s once they are approved do not run', async (_name, most, why, ending) => {
    const counts = { parses: 0, rules: 0 };
    const answers = async (name: keyof typeof counts, answer: boolean): Promise<boolean> => {
      counts[name] += 1;
      return counts[name] <= most[name] ? answer : never();
    };
    const hangs = defineTool({
      ...quickly,
      input: z.object({}).refine(() => answers('parses', true)),
      run: () => 'Done.',
    });
    const { agent } = scripted([uses({ id: 'a', name: 'quick' }), 'Ok.'], {
      tools: [hangs],
      permissions: {
        deny: [{ tool: 'quick', when: () => answers('rules', false) }],
        otherwise: 'ask',
      },
    });
    const run = agent.start('Go.');
    await run.idle();
    await run.approve('a');
    const { result, events } = await finish(run);
    expect(resultsIn(result.messages[2])).toEqual([expect.stringContaining(why)]);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending }]);
    expect(eventsNamed(events, 'tool.started')).toEqual([]);
  });

  it('give their slot back when they are stopped before they begin', async () => {
    const long = gatedTool({ name: 'long' });
    const single = defineTool({
      name: 'single',
      description: 'One at a time.',
      input: anything,
      effect: 'once',
      concurrency: 1,
      run: () => 'Done.',
    });
    const inner = memoryStore();
    const durable = gate<void>();
    let isSlow = false;
    const store: Store = {
      ...inner,
      async save(steps) {
        if (isSlow) await durable.passed;
        return inner.save(steps);
      },
    };
    const { agent } = scripted(
      [
        uses({ id: 'a', name: 'long' }, { id: 'b', name: 'single' }),
        uses({ id: 'c', name: 'single' }),
        'Ok.',
      ],
      {
        tools: [long.tool, single],
        permissions: { ask: ['single'], otherwise: 'allow' },
        onLimit: 'ask',
        store,
      },
    );
    const run = agent.start('Go.');
    await Promise.all([untilEvent(run, 'approval.wanted'), long.begun]);
    isSlow = true;
    const approved = run.approve('b');
    while (!isRunning(run, 'b')) await nextTurn();
    run.raiseBudget({ maxActiveMs: 1 });
    await untilEvent(run, 'budget.wanted');
    isSlow = false;
    durable.open();
    await approved;
    run.raiseBudget({ maxActiveMs: 60_000 });
    await wantedFor(run, 'c');
    await run.approve('c');
    const { result } = await finish(run);
    expect(resultsIn(result.messages[4])).toEqual(['c: Done.']);
  });

  it('that name no tool, or bring bad input, are answered without running', async () => {
    const { agent } = scripted(
      [
        uses(
          { id: 'a', name: 'ecko', input: { text: 'x' } },
          { id: 'b', name: 'echo', input: { text: 7 } },
          { id: 'c', name: 'constructor' },
          { id: 'd', name: 'echo', input: { text: 'fine' } },
        ),
        'Ok.',
      ],
      { tools: [echo] },
    );
    const { result, events } = await finish(agent.start('Go.'));
    const [unknown, invalid, prototype, fine] = resultsIn(result.messages[2]);
    expect(unknown).toContain('Did you mean echo?');
    expect(invalid).toContain('text');
    expect(prototype).toContain('There is no tool named "constructor".');
    expect(fine).toBe('d: fine');
    expect(eventsNamed(events, 'tool.started').map(({ callId }) => callId)).toEqual(['d']);
  });

  it('run at most as many at once as the run allows', async () => {
    const { busy, seen } = busyTool('busy');
    const { agent } = scripted([uses(...calls(7, 'busy')), 'Ok.'], {
      tools: [busy],
      toolConcurrency: 3,
    });
    const { result } = await finish(agent.start('Go.'));
    expect(seen.most).toBe(3);
    expect(resultsIn(result.messages[2])).toHaveLength(7);
  });

  it('run at most as many at once as their tool allows, without holding up others', async () => {
    const single = busyTool('single', 1);
    const many = busyTool('many');
    const { agent } = scripted([uses(...calls(4, 'single'), ...calls(4, 'many')), 'Ok.'], {
      tools: [single.busy, many.busy],
    });
    await finish(agent.start('Go.'));
    expect(single.seen.most).toBe(1);
    expect(many.seen.most).toBe(4);
  });

  it('beyond maxCalls of their tool are answered without running', async () => {
    const twice = defineTool({
      name: 'twice',
      description: 'At most two times.',
      input: z.object({ n: z.number() }),
      effect: 'read',
      maxCalls: 2,
      run: ({ n }) => n,
    });
    const { agent } = scripted(
      [
        uses({ id: 'a', name: 'twice', input: { n: 1 } }),
        uses(
          { id: 'b', name: 'twice', input: { n: 2 } },
          { id: 'c', name: 'twice', input: { n: 3 } },
        ),
        'Ok.',
      ],
      { tools: [twice] },
    );
    const { result } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[4])).toEqual([
      'b: 2',
      'c: Not executed: twice may be called 2 times in a run, and was.',
    ]);
  });

  it('cost what their result says, on top of the model', async () => {
    const paid = defineTool({
      name: 'paid',
      description: 'Costs money.',
      input: anything,
      effect: 'read',
      maxCostUsd: 0.5,
      run: () => toolOutput({ content: 'Here.', costUsd: 0.25 }),
    });
    const free = { inputTokens: 0, outputTokens: 0 };
    const { agent } = scripted(
      [
        { toolUses: [{ id: 'a', name: 'paid' }], usage: free },
        { text: 'Ok.', usage: free },
      ],
      { tools: [paid] },
    );
    const { result } = await finish(agent.start('Go.'));
    expect(result.costUsd).toBe(0.25);
  });
});

const never = (): Promise<boolean> => new Promise(() => {});

const isRunning = (run: Run, callId: string): boolean => {
  const { calls } = run.snapshot().context as unknown as RunContext;
  return calls.some(({ id, isRunning }) => id === callId && isRunning);
};

async function wantedFor(run: Run, callId: string): Promise<void> {
  for await (const event of run.events) {
    if (event.type === 'approval.wanted' && event.callId === callId) return;
  }
  throw new Error(`The run ended without asking for "${callId}".`);
}

function raise(value: unknown): never {
  throw value;
}
