import assert from 'node:assert/strict';
import { type Promised, promise } from './store-promise.ts';
import { stepsOf } from './store-steps.ts';

export const sharePromises: readonly Promised[] = [
  promise(
    'leases a run to one owner at a time',
    async (store) => {
      await store.save([stepsOf('a').next()]);
      assert.deepEqual(await store.lease('a', 'one', 100, 0), { ok: true });
      const held = { ok: false, owner: 'one', untilMs: 100 };
      assert.deepEqual(await store.lease('a', 'two', 150, 50), held);
      assert.deepEqual(await store.lease('a', 'two', 150, 99), held);
      assert.deepEqual(await store.lease('b', 'two', 150, 50), { ok: true });
    },
    async (store) => {
      const held = { ok: false, owner: 'one', untilMs: 100 };
      assert.deepEqual(await store.lease('a', 'two', 150, 50), held);
    },
  ),
  promise('lets another owner have a lease that has run out', async (store) => {
    await store.lease('a', 'one', 100, 0);
    assert.deepEqual(await store.lease('a', 'two', 200, 100), { ok: true });
    const held = { ok: false, owner: 'two', untilMs: 200 };
    assert.deepEqual(await store.lease('a', 'one', 300, 150), held);
  }),
  promise('renews a lease for its owner', async (store) => {
    await store.lease('a', 'one', 100, 0);
    assert.deepEqual(await store.lease('a', 'one', 200, 50), { ok: true });
    const held = { ok: false, owner: 'one', untilMs: 200 };
    assert.deepEqual(await store.lease('a', 'two', 250, 150), held);
  }),
  promise('gives leases back, but not those of others', async (store) => {
    await store.lease('a', 'one', 100, 0);
    await store.lease('b', 'two', 100, 0);
    await store.release(['a', 'b', 'c'], 'one');
    assert.deepEqual(await store.lease('a', 'three', 100, 50), { ok: true });
    const held = { ok: false, owner: 'two', untilMs: 100 };
    assert.deepEqual(await store.lease('b', 'three', 100, 50), held);
  }),
  promise('takes the lease with the first save', async (store) => {
    const lease = { owner: 'one', untilMs: 100 };
    await store.save([stepsOf('a', { lease }).next()]);
    const held = { ok: false, owner: 'one', untilMs: 100 };
    assert.deepEqual(await store.lease('a', 'two', 150, 50), held);
    await store.save([stepsOf('a', { lease: { owner: 'two', untilMs: 900 } }).next()]);
    assert.deepEqual(await store.lease('a', 'two', 150, 50), held);
  }),
  promise(
    'keeps posted events until the run has heard them',
    async (store) => {
      const [a, b] = [stepsOf('a'), stepsOf('b')];
      await store.save([a.next(), b.next()]);
      await store.post('a', { type: 'one' });
      await store.post('b', { type: 'two' });
      await store.post('a', { type: 'three', __proto__: null });
      const posted = await store.posted(['a', 'b', 'c']);
      assert.deepEqual(
        posted.map(({ runId, event }) => [runId, event.type]),
        [
          ['a', 'one'],
          ['b', 'two'],
          ['a', 'three'],
        ],
      );
      const [one = 0, two = 0] = posted.map(({ number }) => number);
      const refused = { ...b.next(), follows: 9, heard: [two] };
      await store.save([a.next({ heard: [one, two] }), refused]);
      await store.post('a', { type: 'four' });
      assert.equal(new Set(posted.map(({ number }) => number)).size, 3);
    },
    async (store) => {
      const types = async (...ids: readonly string[]) =>
        (await store.posted(ids)).map(({ event }) => event.type);
      assert.deepEqual(await types('a'), ['three', 'four']);
      assert.deepEqual(await types('b'), ['two']);
      assert.deepEqual(await types('b', 'a'), ['two', 'three', 'four']);
      assert.deepEqual(await types(), []);
    },
  ),
];
