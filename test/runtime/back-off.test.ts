import { setImmediate as nextTurn } from 'node:timers/promises';
import { createAgent, defineTool, type Run, type RunEvent } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { z } from 'zod';
import { defaultRetry } from '../../src/core/retry.ts';
import { backOff } from '../../src/runtime/effect.ts';
import { finish, uses } from './run-kit.ts';

const hour = 3_600_000;
const longestMs = 132_000;

/** A wait in a run that has these settings. */
function waitUntil(at: number, retry = defaultRetry) {
  const run = createMachine({
    id: 'agent-loop',
    context: { settings: { retry } },
    initial: 'waiting',
    states: {
      waiting: { invoke: { src: backOff, input: { at }, onDone: 'over' } },
      over: { type: 'final' },
    },
  });
  return createActor(run).start();
}

const isOver = (actor: ReturnType<typeof waitUntil>): boolean =>
  actor.getSnapshot().status === 'done';

beforeEach(() => {
  vi.useFakeTimers({ now: 10 * hour, toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a back-off', () => {
  it.each([-hour, -1, 0])('whose end lies %d ms ahead takes no timer', async (ms) => {
    const actor = waitUntil(Date.now() + ms);
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(isOver(actor)).toBe(true);
  });

  it.each([
    ['as planned', 30_000, 30_000],
    ['as planned, also a minute and more', 100_000, 100_000],
    ['the longest that is planned', longestMs, longestMs],
    ['no longer, as after a restart with a clock set back', longestMs + 2 * hour, longestMs],
  ])('waits %s', async (_name, aheadMs, expectedMs) => {
    const actor = waitUntil(Date.now() + aheadMs);
    await vi.advanceTimersByTimeAsync(expectedMs - 1);
    expect(isOver(actor)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver(actor)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([-2 * hour, 2 * hour])('heeds no clock that is set by %d ms meanwhile', async (byMs) => {
    const actor = waitUntil(Date.now() + 90_000);
    await vi.advanceTimersByTimeAsync(10_000);
    vi.setSystemTime(Date.now() + byMs);
    await vi.advanceTimersByTimeAsync(79_999);
    expect(isOver(actor)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver(actor)).toBe(true);
  });

  it('goes by the settings of its run', async () => {
    const retry = { ...defaultRetry, maxMs: 100, maxRetryAfterMs: 0 };
    const actor = waitUntil(Date.now() + hour, retry);
    await vi.advanceTimersByTimeAsync(99);
    expect(isOver(actor)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver(actor)).toBe(true);
  });

  it('never fires early for a wait that no timer can hold', async () => {
    const actor = waitUntil(Date.now() + 2 ** 40, { ...defaultRetry, maxRetryAfterMs: 2 ** 40 });
    await vi.advanceTimersByTimeAsync(24 * hour);
    expect(isOver(actor)).toBe(false);
    actor.stop();
  });

  it('leaves no timer when nobody waits for it any more', () => {
    const actor = waitUntil(Date.now() + 1_000);
    expect(vi.getTimerCount()).toBe(1);
    actor.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});

const retry = { baseMs: 20_000, maxMs: 20_000 };

function overloaded(): Run {
  const error = { status: 529, type: 'overloaded_error', message: 'Busy.' };
  return createAgent({ model: scriptedModel([{ error }, 'Ok.']), retry }).start('Go.');
}

function failingTool(): Run {
  const tool = defineTool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    effect: 'read',
    maxRetries: 1,
    run(_input, { attempt }) {
      if (attempt === 1) throw new Error('Not this time.');
      return 'Done.';
    },
  });
  const model = scriptedModel([uses({ id: 'a', name: 'work' }), 'Ok.']);
  return createAgent({ model, tools: [tool], retry }).start('Go.');
}

/** Lets go on what waits for no timer, until the run waits for its retry. */
async function untilBackOff(run: Run): Promise<void> {
  const waits = (): boolean => JSON.stringify(run.snapshot()).includes('"value":"backOff"');
  for (let round = 0; round < 1_000 && !waits(); round++) await nextTurn();
  expect(waits()).toBe(true);
}

describe('a run whose clock is set back by two hours while it waits for a retry', () => {
  it.each<[string, () => Run, RunEvent['type']]>([
    ['of a model call', overloaded, 'model.failed'],
    ['of a tool call', failingTool, 'tool.settled'],
  ])('%s goes on after the wait that was planned', async (_name, start, told) => {
    const run = start();
    await untilBackOff(run);
    vi.setSystemTime(Date.now() - 2 * hour);
    await vi.advanceTimersByTimeAsync(20_000);
    const { result, events } = await finish(run);
    expect(result.status).toBe('completed');
    expect(events.map(({ type }) => type)).toContain(told);
  });
});
