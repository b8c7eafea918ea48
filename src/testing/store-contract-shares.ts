import assert from 'node:assert/strict';
import type { Store } from '../stores/store.ts';
import { type Promised, promise } from './store-promise.ts';
import { stepsOf } from './store-steps.ts';

/** Posts an event and has the run hear it, which leaves no event. Its checkpoint has the numbers of all events so far. */
async function postAndHear(store: Store, runId: string): Promise<void> {
  const saved = await store.load(runId);
  const used = (saved?.checkpoint.used ?? []) as readonly number[];
  await store.post(runId, { type: 'hello' });
  const numbers = (await store.posted([runId])).map(({ number }) => number);
  assert.equal(numbers.length, 1);
  const [number = Number.NaN] = numbers;
  assert.ok(Number.isSafeInteger(number), `expected a whole number, got ${number}`);
  assert.ok(!used.includes(number), `number ${number} was given before: ${used.join(', ')}`);
  const follows = saved?.saveVersion ?? 0;
  const { begin } = stepsOf(runId).next();
  const change = { follows, begin: saved ? null : begin, checkpoint: { used: [...used, number] } };
  assert.deepEqual(await store.save([stepsOf(runId).next({ ...change, heard: numbers })]), []);
  assert.deepEqual(await store.posted([runId]), []);
}

/** Several ask at the same moment; all but one learn who got it. */
async function contend(store: Store, untilMs: number, nowMs: number): Promise<void> {
  const owners = ['one', 'two', 'three', 'four'];
  const asked = owners.map((owner) => store.lease('a', owner, untilMs, nowMs));
  const answers = await Promise.all(asked);
  const winners = owners.filter((_, index) => answers[index]?.ok);
  assert.equal(winners.length, 1, `expected one owner, got ${winners.length}`);
  const held = { ok: false, owner: winners[0], untilMs };
  for (const answer of answers) if (!answer.ok) assert.deepEqual(answer, held);
}

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
  promise(
    'gives a free lease to exactly one of several who ask at the same moment',
    async (store) => {
      await contend(store, 100, 0);
      await contend(store, 200, 100);
    },
  ),
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
  promise(
    'never gives the number of a posted event again',
    async (store) => {
      // The second event finds none before it, as the first did.
      for (const runId of ['a', 'a', 'a', 'b']) await postAndHear(store, runId);
      const [a, b] = [await store.load('a'), await store.load('b')];
      const used = [a, b].flatMap((run) => run?.checkpoint.used as readonly number[]);
      assert.equal(new Set(used).size, 4, `expected 4 numbers, got ${used.join(', ')}`);
    },
    (store) => postAndHear(store, 'a'),
  ),
];
