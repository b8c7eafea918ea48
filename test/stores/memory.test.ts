import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory.ts';
import { storeContract } from '../../src/testing/store-contract.ts';

describe('memoryStore', () => {
  it.each(storeContract)('$name', async ({ check }) => {
    await expect(check(() => memoryStore())).resolves.toBeUndefined();
  });

  it('forgets a run that has ended when it is told to', async () => {
    const store = memoryStore({ keepsEnded: false });
    const snapshot = { status: 'done', value: 'completed', context: {} } as const;
    await store.save([{ runId: 'a', follows: 0, snapshot, ended: null }]);
    expect(await store.load('a')).not.toBeNull();
    await store.save([{ runId: 'a', follows: 1, snapshot, ended: 'completed' }]);
    expect(await store.load('a')).toBeNull();
  });
});
