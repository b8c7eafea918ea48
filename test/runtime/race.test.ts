import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { raceTimeout, timedOut } from '../../src/runtime/race.ts';

const nothing = new Promise<never>(() => {});

describe('raceTimeout', () => {
  it.each([
    ['a value', () => Promise.resolve(1), { value: 1 }],
    ['an error', () => Promise.reject(new Error('x')), { error: new Error('x') }],
  ])('settles with %s, and leaves no timer and no listener', async (_name, work, expected) => {
    vi.useFakeTimers();
    const { signal } = new AbortController();
    const outcome = await raceTimeout(work(), 1_000, signal).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    expect(outcome).toEqual(expected);
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    vi.useRealTimers();
  });

  it('gives up on work that never settles', async () => {
    vi.useFakeTimers();
    const { signal } = new AbortController();
    const race = expect(raceTimeout(nothing, 1_000, signal)).rejects.toBe(timedOut);
    await vi.advanceTimersByTimeAsync(1_000);
    await race;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    vi.useRealTimers();
  });

  it.each([
    ['before', true],
    ['while', false],
  ])('stops with the reason of a signal that fires %s it waits', async (_name, isBefore) => {
    const aborts = new AbortController();
    if (isBefore) aborts.abort(new Error('stop'));
    const race = expect(
      raceTimeout(nothing, Number.POSITIVE_INFINITY, aborts.signal),
    ).rejects.toThrow('stop');
    if (!isBefore) aborts.abort(new Error('stop'));
    await race;
    expect(getEventListeners(aborts.signal, 'abort')).toHaveLength(0);
  });

  it('drops a rejection that comes too late', async () => {
    const aborts = new AbortController();
    let fail: (error: Error) => void = () => {};
    const work = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const race = raceTimeout(work, Number.POSITIVE_INFINITY, aborts.signal);
    aborts.abort(new Error('stop'));
    await expect(race).rejects.toThrow('stop');
    fail(new Error('late'));
    await new Promise(setImmediate);
  });
});
