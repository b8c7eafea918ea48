import { describe, expect, it } from 'vitest';
import { postedByRun } from '../../src/runtime/posted-events.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';

const damage = new Error('damaged row');

/** A store that rejects whatever is asked about these runs. `reads` holds how many runs each read was for. */
async function storeWithDamage(isDamaged: (runId: string) => boolean, ids: readonly string[]) {
  const inner = memoryStore();
  const reads: number[] = [];
  const store: Store = {
    ...inner,
    posted: async (runIds) => {
      reads.push(runIds.length);
      if (runIds.some(isDamaged)) throw damage;
      return inner.posted(runIds);
    },
  };
  for (const id of ids) await inner.post(id, { type: 'run.paused' });
  return { store, reads };
}

const many = Array.from({ length: 200 }, (_, index) => `run ${index}`);

describe('postedByRun', () => {
  it('reads once when nothing is damaged', async () => {
    const { store, reads } = await storeWithDamage(() => false, ['a', 'b']);
    const { posted, damaged } = await postedByRun(store, ['a', 'b', 'c']);
    expect(posted.map(({ runId }) => runId)).toEqual(['a', 'b']);
    expect([damaged, reads]).toEqual([[], [3]]);
  });

  it.each([
    [[], []],
    [['a'], ['a']],
    [['a', 'b', 'c'], ['b']],
    [
      ['a', 'b', 'c'],
      ['a', 'c'],
    ],
    [['a', 'b', '__proto__'], ['__proto__']],
    [
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ],
  ])('of the runs %j, reports the damaged ones %j and reads the others', async (ids, bad) => {
    const { store } = await storeWithDamage((id) => bad.includes(id), ids);
    const { posted, damaged } = await postedByRun(store, ids);
    expect(posted.map(({ runId }) => runId)).toEqual(ids.filter((id) => !bad.includes(id)));
    expect(damaged).toEqual(bad.map((runId) => ({ runId, error: damage })));
  });

  it('finds one among many without asking about each', async () => {
    const { store, reads } = await storeWithDamage((id) => id === 'run 123', many);
    const { posted, damaged } = await postedByRun(store, many);
    expect([posted.length, damaged.length]).toEqual([199, 1]);
    expect(reads.length).toBeLessThan(30);
  });

  it('rejects when the whole store is in trouble, and blames no run', async () => {
    const store = { ...memoryStore(), posted: () => Promise.reject(damage) };
    await expect(postedByRun(store, many)).rejects.toBe(damage);
  });
});
