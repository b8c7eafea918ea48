import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { whenAborted } from '../../src/runtime/shared-signal.ts';

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('whenAborted', () => {
  it('tells everyone who shares the signal, over one listener', () => {
    const aborts = new AbortController();
    const told: number[] = [];
    for (const number of [1, 2, 3]) whenAborted(aborts.signal, () => told.push(number));
    expect(listenersOf(aborts.signal)).toBe(1);
    aborts.abort();
    expect(told).toEqual([1, 2, 3]);
    expect(listenersOf(aborts.signal)).toBe(0);
  });

  it('does not tell those who have left, and listens no more after the last one', () => {
    const aborts = new AbortController();
    const told: number[] = [];
    const leaveFirst = whenAborted(aborts.signal, () => told.push(1));
    const leaveSecond = whenAborted(aborts.signal, () => told.push(2));
    leaveFirst();
    expect(listenersOf(aborts.signal)).toBe(1);
    leaveSecond();
    expect(listenersOf(aborts.signal)).toBe(0);
    aborts.abort();
    expect(told).toEqual([]);
  });

  it('listens again after everyone has left, also when one leaves twice', () => {
    const aborts = new AbortController();
    const told: number[] = [];
    const leaveFirst = whenAborted(aborts.signal, () => told.push(1));
    leaveFirst();
    whenAborted(aborts.signal, () => told.push(2));
    leaveFirst();
    expect(listenersOf(aborts.signal)).toBe(1);
    aborts.abort();
    expect(told).toEqual([2]);
  });

  it('tells those who leave each other while they are told', () => {
    const aborts = new AbortController();
    const told: number[] = [];
    const leaves = [1, 2].map((number) =>
      whenAborted(aborts.signal, () => {
        told.push(number);
        for (const leave of leaves) leave();
      }),
    );
    aborts.abort();
    expect(told).toEqual([1, 2]);
    expect(listenersOf(aborts.signal)).toBe(0);
  });
});
