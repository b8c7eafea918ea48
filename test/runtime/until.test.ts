import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createActor } from 'xstate';
import { until } from '../../src/runtime/effect.ts';

const day = 86_400_000;
const waitFor = (at: number) => createActor(until, { input: { at } }).start();
type Waiting = ReturnType<typeof waitFor>;
const isOver = (actor: Waiting): boolean => actor.getSnapshot().status === 'done';

describe('a point in time', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([-5 * day, -1, 0])('that lies %d ms ahead is reached without a timer', async (ms) => {
    const actor = waitFor(Date.now() + ms);
    expect(vi.getTimerCount()).toBe(0);
    await Promise.resolve();
    expect(isOver(actor)).toBe(true);
  });

  it.each([1, 59_999, 60_001, day, 40 * day])('%d ms ahead is never reached early', async (ms) => {
    const actor = waitFor(Date.now() + ms);
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(isOver(actor)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver(actor)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is noticed within a minute when the clock was set, or the machine slept', async () => {
    const actor = waitFor(Date.now() + day);
    vi.setSystemTime(Date.now() + 2 * day);
    expect(isOver(actor)).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isOver(actor)).toBe(true);
  });

  it('waits longer when the clock was set back', async () => {
    const actor = waitFor(Date.now() + 30_000);
    vi.setSystemTime(Date.now() - 10_000);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(isOver(actor)).toBe(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(isOver(actor)).toBe(true);
  });

  it('leaves no timer when nobody waits for it any more', () => {
    const actor = waitFor(Date.now() + day);
    expect(vi.getTimerCount()).toBe(1);
    actor.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
