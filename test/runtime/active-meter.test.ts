import { describe, expect, it, vi } from 'vitest';
import { activeMeter } from '../../src/runtime/active-meter.ts';

function meterAt(options: { readonly startMs?: number; readonly limitMs?: number | null } = {}) {
  let nowMs = 0;
  let limitMs = options.limitMs ?? null;
  const ranOut = vi.fn();
  const meter = activeMeter({
    startMs: options.startMs ?? 0,
    limitMs: () => limitMs,
    ranOut,
    now: () => nowMs,
  });
  const pass = (ms: number): void => {
    nowMs += ms;
    vi.advanceTimersByTime(ms);
  };
  return { meter, ranOut, pass, raise: (ms: number | null) => (limitMs = ms) };
}

describe('activeMeter', () => {
  it('runs only while an effect does, and counts parallel effects once', () => {
    vi.useFakeTimers();
    const { meter, pass } = meterAt({ startMs: 5 });
    pass(100);
    meter.begin();
    pass(10);
    meter.begin();
    pass(10);
    meter.end();
    pass(10);
    meter.end();
    pass(100);
    expect(meter.read()).toBe(35);
    vi.useRealTimers();
  });

  it('says once that the time ran out, and leaves no timer when the effect ends before', () => {
    vi.useFakeTimers();
    const { meter, ranOut, pass } = meterAt({ limitMs: 50 });
    meter.begin();
    pass(40);
    meter.end();
    expect(vi.getTimerCount()).toBe(0);
    meter.begin();
    pass(10);
    expect(ranOut.mock.calls).toEqual([[50]]);
    vi.useRealTimers();
  });

  it.each([
    ['that is set while an effect runs', null, 50, [[50]]],
    ['that is lowered while an effect runs', 1_000, 50, [[50]]],
    ['that is used up already, at once', 1_000, 5, [[11]]],
    ['no longer once it is taken away', 50, null, []],
  ])('heeds a limit %s', (_name, limitMs, newLimitMs, expected) => {
    vi.useFakeTimers();
    const { meter, ranOut, pass, raise } = meterAt({ limitMs });
    meter.begin();
    pass(10);
    raise(newLimitMs);
    meter.heedLimit();
    pass(1);
    pass(39);
    expect(ranOut.mock.calls).toEqual(expected);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('sets no timer for a limit that comes while nothing runs', () => {
    vi.useFakeTimers();
    const { meter, raise } = meterAt();
    raise(50);
    meter.heedLimit();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('heeds a limit that was raised while an effect runs', () => {
    vi.useFakeTimers();
    const { meter, ranOut, pass, raise } = meterAt({ limitMs: 50 });
    meter.begin();
    raise(80);
    pass(50);
    expect(ranOut).not.toHaveBeenCalled();
    pass(30);
    expect(ranOut.mock.calls).toEqual([[80]]);
    vi.useRealTimers();
  });
});
