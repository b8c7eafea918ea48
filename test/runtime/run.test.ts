import { getEventListeners, setMaxListeners } from 'node:events';
import { createAgent, defineTool, type Message, memoryStore } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import {
  echo,
  eventsNamed,
  finish,
  gatedTool,
  resultsIn,
  scripted,
  untilEvent,
  uses,
} from './run-kit.ts';

afterEach(() => void vi.useRealTimers());

describe('a run', () => {
  it('completes with the text of the model, its usage and its cost', async () => {
    const usage = { inputTokens: 100, outputTokens: 20 };
    const { agent } = scripted([{ text: 'Hello.', usage }]);
    const { result } = await finish(agent.start('Hi.', { runId: 'greeting' }));
    expect(result).toMatchObject({
      runId: 'greeting',
      status: 'completed',
      reason: 'The model gave its answer.',
      error: null,
      text: 'Hello.',
      limit: null,
      usage,
      costUsd: 0.0002,
      budget: { spend: { turns: 1, inputTokens: 100, outputTokens: 20, toolCalls: 0 } },
    });
    expect(result.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi.' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
    ]);
  });

  it('streams the text in pieces that make up the answer', async () => {
    const { agent } = scripted(['A somewhat longer answer than one piece.']);
    const { result, events } = await finish(agent.start('Hi.'));
    const deltas = eventsNamed(events, 'text.delta');
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.map(({ text }) => text).join('')).toBe(result.text);
  });

  it('tells every state that it enters, in order', async () => {
    const { agent } = scripted([uses({ id: 'a', name: 'echo', input: { text: 'x' } }), 'Done.'], {
      tools: [echo],
    });
    const { events } = await finish(agent.start('Go.'));
    expect(eventsNamed(events, 'state.entered').map(({ state }) => state)).toEqual([
      'checkBudget',
      'callModel',
      'routeToolUse',
      'executeTools.working',
      'checkBudget',
      'callModel',
      'routeToolUse',
      'completed',
    ]);
  });

  it('gives the same events to a listener that comes late, and to onEvent of its agent', async () => {
    const seen: string[] = [];
    const { agent } = scripted(['Done.'], { onEvent: ({ type }) => seen.push(type) });
    const { events } = await finish(agent.start('Go.'));
    expect(seen).toEqual(events.map(({ type }) => type));
  });

  it('goes on with the history of an earlier run', async () => {
    const { agent, model } = scripted(['Blue.', 'Because of the air.']);
    const first = await finish(agent.start('What colour is the sky?'));
    const { result } = await finish(agent.start('Why?', { history: first.result.messages }));
    expect(result.text).toBe('Because of the air.');
    expect(model.requests[1]?.messages.slice(0, 2)).toEqual(first.result.messages);
    expect(model.requests[1]?.messages).toHaveLength(3);
  });

  it('puts what was steered behind the results, in the same message', async () => {
    const { agent, model } = scripted(
      [uses({ id: 'a', name: 'echo', input: { text: 'x' } }), 'Ok.'],
      {
        tools: [echo],
      },
    );
    const run = agent.start('Go.');
    run.steer('Be brief.');
    await finish(run);
    expect(model.requests[1]?.messages.at(-1)?.content).toEqual([
      { type: 'tool_result', tool_use_id: 'a', content: 'x' },
      { type: 'text', text: 'Be brief.' },
    ]);
  });

  it('answers what was steered during its last reply too', async () => {
    const { agent, model } = scripted(['A long story.', 'A short story.']);
    const run = agent.start('Tell a story.');
    await untilEvent(run, 'text.delta');
    run.steer('Shorter, please.');
    const { result } = await finish(run);
    expect(result.text).toBe('A short story.');
    expect(model.requests).toHaveLength(2);
  });

  it('pauses before the next model call, and goes on when it is resumed', async () => {
    const { agent, model } = scripted(
      [uses({ id: 'a', name: 'echo', input: { text: 'x' } }), 'Ok.'],
      {
        tools: [echo],
      },
    );
    const run = agent.start('Go.');
    run.pause();
    expect(await run.idle()).toBe('waiting');
    expect(run.state).toBe('paused');
    const { messages } = run.snapshot().context as { readonly messages: readonly Message[] };
    expect(resultsIn(messages.at(-1))).toEqual(['a: x']);
    expect(model.requests).toHaveLength(1);
    run.resume();
    expect((await finish(run)).result.text).toBe('Ok.');
  });

  it('takes no more events once it has ended', async () => {
    const { agent } = scripted(['Done.']);
    const run = agent.start('Go.');
    await run.result;
    const finished = expect.objectContaining({ code: 'run_finished' });
    expect(() => run.steer('More.')).toThrow(finished);
    expect(() => run.pause()).toThrow(finished);
    expect(() => run.raiseBudget({ maxTurns: 9 })).toThrow(finished);
    await expect(run.approve('a')).rejects.toEqual(finished);
    run.cancel('too late');
    expect((await run.result).status).toBe('completed');
    expect(run.state).toBe('completed');
    expect(run.pending).toEqual([]);
    expect(await run.idle()).toBe('ended');
  });

  it.each([
    ['a blank prompt', '  ', {}],
    ['a run id with a slash', 'Go.', { runId: '../x' }],
    ['a negative limit', 'Go.', { budget: { maxTurns: -1 } }],
  ])('refuses %s before anything happens', (_name, prompt, options) => {
    const { agent, model } = scripted(['Done.']);
    const invalid = expect.objectContaining({ code: 'invalid_input' });
    expect(() => agent.start(prompt, options)).toThrow(invalid);
    expect(model.requests).toEqual([]);
  });
});

describe('two runs with one id', () => {
  it('cannot run at once in one agent', async () => {
    const { agent } = scripted(['First.', 'Second.']);
    const run = agent.start('Go.', { runId: 'one' });
    const exists = expect.objectContaining({ code: 'run_exists' });
    expect(() => agent.start('Go.', { runId: 'one' })).toThrow(exists);
    expect((await finish(run)).result.text).toBe('First.');
  });

  it('cannot share a store: the second fails before it calls a model', async () => {
    const store = memoryStore();
    const { agent } = scripted(['First.'], { store });
    await finish(agent.start('Go.', { runId: 'one' }));
    const late = scripted(['Second.'], { store });
    const { result } = await finish(late.agent.start('Go.', { runId: 'one' }));
    expect(result).toMatchObject({ status: 'failed', error: { code: 'run_exists' } });
    expect(late.model.requests).toEqual([]);
    expect((await store.load('one'))?.checkpoint).toMatchObject({ context: { answer: 'First.' } });
  });

  it('may follow each other in an agent that keeps no ended runs', async () => {
    const { agent } = scripted(['First.', 'Second.']);
    await finish(agent.start('Go.', { runId: 'one' }));
    const { result } = await finish(agent.start('Go.', { runId: 'one' }));
    expect(result.text).toBe('Second.');
  });
});

describe('fifty runs', () => {
  it('leave no timer and no listener behind, however they end', async () => {
    // Faked only to be counted: they go off as real ones would.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const quick = defineTool({
      name: 'quick',
      description: 'Fails once, then works.',
      input: z.object({}),
      effect: 'idempotent',
      maxRetries: 1,
      run: (_input, { attempt }) => {
        if (attempt === 1) throw new Error('not yet');
        return 'Done.';
      },
    });
    const { tool: slow } = gatedTool({ name: 'slow' });
    const agent = createAgent({
      model: scriptedModel(({ body }) =>
        body.messages.length === 1
          ? uses({
              id: 'a',
              name: JSON.stringify(body.messages).includes('slow') ? 'slow' : 'quick',
            })
          : 'Done.',
      ),
      tools: [quick, slow],
      permissions: { otherwise: 'allow' },
      retry: { baseMs: 1 },
      budget: { maxActiveMs: 60_000 },
    });
    const ends = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const isSlow = index % 2 === 1;
        const run = agent.start(isSlow ? 'slow' : 'quick', { signal: stop.signal });
        if (isSlow) void untilEvent(run, 'tool.started').then(() => run.cancel());
        return (await finish(run)).result.status;
      }),
    );
    expect(ends.filter((status) => status === 'completed')).toHaveLength(25);
    expect(ends.filter((status) => status === 'cancelled')).toHaveLength(25);
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });
});
