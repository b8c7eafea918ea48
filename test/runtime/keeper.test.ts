import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createKeeper, type KeptRun } from '../../src/runtime/keeper.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Runs `a` and `b`, kept for `one`, in a store that does some things in another way. */
async function kept(change: (inner: Store) => Partial<Store>) {
  const inner = memoryStore();
  const store = { ...inner, ...change(inner) };
  const keeper = createKeeper(store, 'one', Date.now);
  const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const heard: string[] = [];
  for (const runId of ['a', 'b']) {
    const leaseUntilMs = keeper.leaseUntilMs();
    await inner.lease(runId, 'one', leaseUntilMs, Date.now());
    const hear: KeptRun['hear'] = ({ event }) => void heard.push(`${runId}: ${event.type}`);
    keeper.keep({ runId, leaseUntilMs, hear, onLost: () => {}, prove: async () => {} });
  }
  return { inner, keeper, heard, warning };
}

const refusesA = (inner: Store): Partial<Store> => ({
  posted: async (runIds) => {
    if (runIds.includes('a')) throw new Error('event 7 is damaged');
    return inner.posted(runIds);
  },
});

describe('the keeper', () => {
  it('brings other runs what was posted to them when that of one is damaged, and warns once', async () => {
    const { inner, heard, warning, keeper } = await kept(refusesA);
    await inner.post('b', { type: 'run.paused' });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(new Set(heard)).toEqual(new Set(['b: run.paused']));
    const text = 'Run "a" goes on, but hears nothing from other processes: event 7 is damaged';
    expect(warning.mock.calls).toEqual([[text, 'PawlWarning']]);
    await keeper.leave('a');
    await keeper.leave('b');
  });

  it.each<[string, (inner: Store) => Partial<Store>]>([
    ['is damaged for one run', refusesA],
    ['fails', () => ({ posted: () => Promise.reject(new Error('disk')) })],
    ['never ends', () => ({ posted: () => new Promise(() => {}) })],
  ])('renews every lease when reading what was posted %s', async (_, change) => {
    const { inner, keeper } = await kept(change);
    await vi.advanceTimersByTimeAsync(60_000);
    for (const runId of ['a', 'b']) {
      expect(keeper.isHeld(runId)).toBe(true);
      const answer = await inner.lease(runId, 'two', Date.now() + 1, Date.now());
      expect(answer).toMatchObject({ ok: false, owner: 'one' });
      await keeper.leave(runId);
    }
  });

  it('renews the lease of a run when that of another can not be renewed', async () => {
    const { inner, keeper } = await kept((store) => ({
      lease: (runId, ...rest) =>
        runId === 'a' ? Promise.reject(new Error('row')) : store.lease(runId, ...rest),
    }));
    await vi.advanceTimersByTimeAsync(60_000);
    expect([keeper.isHeld('a'), keeper.isHeld('b')]).toEqual([false, true]);
    expect(await inner.lease('b', 'two', Date.now() + 1, Date.now())).toMatchObject({ ok: false });
    await keeper.leave('a');
    await keeper.leave('b');
  });

  it('warns of no run when the whole store is in trouble', async () => {
    const { warning, keeper } = await kept(() => ({
      posted: () => Promise.reject(new Error('disk')),
    }));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(warning).not.toHaveBeenCalled();
    await keeper.leave('a');
    await keeper.leave('b');
  });
});
