import assert from 'node:assert/strict';
import type { RunSnapshot, SaveStep, Store } from '../stores/store.ts';

/** One promise of the store contract. Works with any test runner: `it(name, () => check(makeStore))`. */
export interface StoreCheck {
  readonly name: string;
  /** Rejects when the store breaks the promise. `makeStore` gives an empty store; the check closes it. */
  readonly check: (makeStore: () => Store | Promise<Store>) => Promise<void>;
}

const snapshot = (mark: string): RunSnapshot => ({
  status: 'active',
  value: { active: 'callModel' },
  context: { mark, messages: [{ role: 'user', content: [{ type: 'text', text: mark }] }] },
  children: {},
});

const step = (runId: string, follows: number, mark = `${runId}/${follows + 1}`): SaveStep => ({
  runId,
  follows,
  snapshot: snapshot(mark),
  ended: null,
});

const promise = (name: string, check: (store: Store) => Promise<void>): StoreCheck => ({
  name,
  async check(makeStore) {
    const store = await makeStore();
    try {
      await check(store);
    } finally {
      await store.close();
    }
  },
});

/** What every store has to keep. A store of your own passes when each check resolves. */
export const storeContract: readonly StoreCheck[] = [
  promise('knows nothing of a run that was never saved', async (store) => {
    assert.equal(await store.load('nobody'), null);
  }),
  promise('gives back the newest save, with its version', async (store) => {
    assert.deepEqual(await store.save([step('a', 0)]), []);
    assert.deepEqual(await store.save([step('a', 1)]), []);
    const saved = await store.load('a');
    assert.equal(saved?.runId, 'a');
    assert.equal(saved.saveVersion, 2);
    assert.deepEqual(JSON.parse(JSON.stringify(saved.snapshot)), snapshot('a/2'));
  }),
  promise(
    'refuses a step that does not follow the newest save, and keeps that save',
    async (store) => {
      await store.save([step('a', 0), step('b', 0)]);
      await store.save([step('a', 1)]);
      assert.deepEqual(await store.save([step('a', 1, 'late')]), ['a']);
      assert.deepEqual(await store.save([step('a', 0, 'new')]), ['a']);
      assert.deepEqual(await store.save([step('b', 7, 'ahead')]), ['b']);
      assert.deepEqual((await store.load('a'))?.snapshot.context.mark, 'a/2');
      assert.deepEqual((await store.load('b'))?.saveVersion, 1);
    },
  ),
  promise('saves the other steps of a transaction in which one is refused', async (store) => {
    await store.save([step('a', 0)]);
    assert.deepEqual(await store.save([step('a', 0), step('b', 0)]), ['a']);
    assert.equal((await store.load('b'))?.saveVersion, 1);
  }),
  promise('lets exactly one of two writers win', async (store) => {
    await store.save([step('a', 0)]);
    const refused = await Promise.all([
      store.save([step('a', 1, 'one')]),
      store.save([step('a', 1, 'two')]),
    ]);
    assert.equal(refused.flat().length, 1);
  }),
  promise('takes any text as the id of a run', async (store) => {
    const ids = ['__proto__', 'constructor', "a'; DROP TABLE runs; --", '../a', 'ä😀', ' '];
    for (const id of ids) {
      assert.deepEqual(await store.save([step(id, 0)]), []);
      assert.equal((await store.load(id))?.snapshot.context.mark, `${id}/1`);
    }
  }),
  promise('keeps hostile content as it is', async (store) => {
    const content = JSON.parse(
      '{"__proto__":{"polluted":1},"xstate$$type":1,"id":"x","text":"\\u0000\\ud83d \\u2028"}',
    );
    await store.save([{ ...step('a', 0), snapshot: { ...snapshot('a'), context: { content } } }]);
    const context = JSON.stringify((await store.load('a'))?.snapshot.context);
    assert.equal(context, JSON.stringify({ content }));
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
  }),
  promise('may be closed twice', async (store) => {
    await store.save([step('a', 0)]);
    await store.close();
    await store.close();
  }),
];
