import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { storeContract } from '../../src/testing/store-contract.ts';

const checkNamed = (name: string) => {
  const found = storeContract.find((entry) => entry.name === name);
  if (!found) throw new Error(`There is no check "${name}".`);
  return found;
};

/** Numbers what was posted by the largest number there is, plus one: those of heard events come again. */
function storeThatCountsRows(): Store {
  const inner = memoryStore();
  let rows: readonly { number: number; inner: number; runId: string }[] = [];
  const outer = (own: number) => rows.find((row) => row.inner === own)?.number ?? Number.NaN;
  return {
    ...inner,
    async post(runId, event) {
      await inner.post(runId, event);
      const own = (await inner.posted([runId])).at(-1)?.number ?? 0;
      const number = Math.max(0, ...rows.map((row) => row.number)) + 1;
      rows = [...rows, { number, inner: own, runId }];
    },
    posted: async (runIds) =>
      (await inner.posted(runIds)).map((posted) => ({ ...posted, number: outer(posted.number) })),
    async save(steps) {
      const own = (runId: string, number: number) =>
        rows.find((row) => row.runId === runId && row.number === number)?.inner ?? -1;
      const refused = await inner.save(
        steps.map((step) => ({ ...step, heard: step.heard.map((at) => own(step.runId, at)) })),
      );
      const left = await inner.posted(rows.map(({ runId }) => runId));
      rows = rows.filter((row) => left.some(({ number }) => number === row.inner));
      return refused;
    },
  };
}

/** Looks whether the lease is free, waits a moment, takes it. */
function storeThatLooksFirst(): Store {
  const inner = memoryStore();
  const held = new Map<string, { owner: string; untilMs: number }>();
  return {
    ...inner,
    async lease(runId, owner, untilMs, nowMs) {
      const found = held.get(runId);
      await Promise.resolve();
      if (found && found.owner !== owner && found.untilMs > nowMs) return { ok: false, ...found };
      held.set(runId, { owner, untilMs });
      return { ok: true };
    },
  };
}

describe('storeContract', () => {
  it.each([
    ['never gives the number of a posted event again', storeThatCountsRows, /was given before/],
    [
      'gives a free lease to exactly one of several who ask at the same moment',
      storeThatLooksFirst,
      /expected one owner, got 4/,
    ],
  ])('finds a store out that breaks "%s"', async (name, makeStore, message) => {
    await expect(checkNamed(name).check(makeStore)).rejects.toThrow(message);
    await expect(checkNamed(name).check(() => memoryStore())).resolves.toBeUndefined();
  });

  it('would pass that store but for the one check', async () => {
    const failed: string[] = [];
    for (const { name, check } of storeContract) {
      await check(storeThatCountsRows).catch(() => failed.push(name));
    }
    expect(failed).toEqual(['never gives the number of a posted event again']);
  });

  it('remembers the numbers of a store that was opened anew', async () => {
    let opened = 0;
    const shared = memoryStore();
    const forgetful = (): Store => {
      opened += 1;
      const fresh = memoryStore();
      return { ...shared, post: fresh.post, posted: fresh.posted, close: async () => {} };
    };
    const { check } = checkNamed('never gives the number of a posted event again');
    await expect(check(() => storeKeptOpen(shared), forgetful)).rejects.toThrow('was given before');
    expect(opened).toBe(1);
  });
});

const storeKeptOpen = (store: Store): Store => ({ ...store, close: async () => {} });
