import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory.ts';
import { storeContract } from '../../src/testing/store-contract.ts';
import { stepsOf } from '../../src/testing/store-steps.ts';

describe('memoryStore', () => {
  it.each(storeContract)('$name', async ({ check }) => {
    await expect(check(() => memoryStore())).resolves.toBeUndefined();
  });

  it('forgets a run that has ended when it is told to', async () => {
    const store = memoryStore({ keepsEnded: false });
    const run = stepsOf('a');
    const first = run.next();
    await store.save([first]);
    expect(await store.load('a')).not.toBeNull();
    await store.save([run.next({ head: { ...first.head, status: 'completed' } })]);
    expect(await store.load('a')).toBeNull();
  });
});
