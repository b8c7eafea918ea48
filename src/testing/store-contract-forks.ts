import assert from 'node:assert/strict';
import type { Store } from '../stores/store.ts';
import { type Promised, promise } from './store-promise.ts';
import { type StepMaker, says, stepsOf } from './store-steps.ts';

const baseOf = (runId: string, length: number, generation = 0) => ({ runId, generation, length });

/** A run of four turns, with two messages before each. */
async function saveParent(store: Store): Promise<StepMaker> {
  const run = stepsOf('parent');
  for (const turn of [1, 2, 3, 4]) await store.save([run.turn(turn, parentSays(turn))]);
  return run;
}

const parentSays = (turn: number) => says(`${turn} a`, `${turn} b`);
const parentUntil = (turn: number) => [1, 2, 3, 4].slice(0, turn).flatMap(parentSays);

/** A chain: `child` goes on from the parent's second turn, `grandchild` from the child's. */
async function saveChain(store: Store): Promise<void> {
  await saveParent(store);
  const child = stepsOf('child', { base: baseOf('parent', 4) });
  await store.save([child.turn(2, says('child'))]);
  await store.save([child.turn(3, says('child again'))]);
  const grandchild = stepsOf('grandchild', { base: baseOf('child', 5) });
  await store.save([grandchild.turn(3, says('grandchild'))]);
  const early = stepsOf('early', { base: baseOf('grandchild', 2) });
  await store.save([early.turn(1, says('early'))]);
}

const childSays = [...parentUntil(2), ...says('child')];

async function checkGrandchild(store: Store): Promise<void> {
  const expected = [...childSays, ...says('grandchild')];
  assert.deepEqual((await store.load('grandchild'))?.messages, expected);
  assert.deepEqual((await store.loadTurn('grandchild', 3))?.messages, expected);
  const early = [...parentUntil(1), ...says('early')];
  assert.deepEqual((await store.load('early'))?.messages, early);
}

export const forkPromises: readonly Promised[] = [
  promise(
    'forks a run at each of its turns',
    async (store) => {
      await saveParent(store);
      for (const turn of [1, 2, 3, 4]) {
        const begun = await store.loadTurn('parent', turn);
        const base = baseOf('parent', begun?.length ?? 0);
        const fork = stepsOf(`fork ${turn}`, { base, forkOf: { runId: 'parent', turn } });
        assert.deepEqual(await store.save([fork.turn(turn, says(`other ${turn}`))]), []);
      }
    },
    async (store) => {
      for (const turn of [1, 2, 3, 4]) {
        const saved = await store.load(`fork ${turn}`);
        assert.deepEqual(saved?.messages, [...parentUntil(turn), ...says(`other ${turn}`)]);
        assert.deepEqual(saved.forkOf, { runId: 'parent', turn });
      }
      assert.deepEqual((await store.load('parent'))?.messages, parentUntil(4));
    },
  ),
  promise('forks of forks have all messages', saveChain, async (store) => {
    assert.deepEqual((await store.load('child'))?.messages, [...childSays, ...says('child again')]);
    assert.deepEqual((await store.loadTurn('child', 2))?.messages, childSays);
    await checkGrandchild(store);
  }),
  promise(
    'forks an earlier generation',
    async (store) => {
      const run = stepsOf('a');
      await store.save([run.turn(1, says('one', 'two'))]);
      await store.save([run.next({ generation: 1, messages: says('summary') })]);
      const fork = stepsOf('fork', { base: baseOf('a', 1) });
      await store.save([fork.next({ messages: says('other') })]);
      const later = stepsOf('later', { base: baseOf('a', 1, 1) });
      await store.save([later.next({ messages: says('new') })]);
    },
    async (store) => {
      assert.deepEqual((await store.load('fork'))?.messages, says('one', 'other'));
      assert.deepEqual((await store.load('later'))?.messages, says('summary', 'new'));
    },
  ),
  promise(
    'keeps what forks share when their parent is deleted, until the last of them is gone',
    async (store) => {
      await saveChain(store);
      await store.delete('parent');
      await store.delete('child');
      assert.equal(await store.load('parent'), null);
      assert.equal(await store.loadTurn('child', 2), null);
    },
    async (store) => {
      await checkGrandchild(store);
      // The name is free again, and has nothing to do with the run that had it.
      const again = stepsOf('child');
      await store.save([again.next({ messages: says('another') })]);
      assert.deepEqual((await store.load('child'))?.messages, says('another'));
      await store.delete('child');
      await checkGrandchild(store);
    },
  ),
  promise('refuses a fork of a run that is gone, or shorter', async (store) => {
    await store.save([stepsOf('a').next({ messages: says('one') })]);
    for (const base of [baseOf('gone', 1), baseOf('a', 2), baseOf('a', 1, 1)]) {
      const fork = stepsOf('fork', { base }).next({ messages: says('two') });
      assert.deepEqual(await store.save([fork]), [{ runId: 'fork', why: 'stale' }]);
    }
    assert.equal(await store.load('fork'), null);
  }),
  promise(
    'deletes a run with all that is its own, and nothing else',
    async (store) => {
      await store.save([stepsOf('a').turn(1, says('a')), stepsOf('b').turn(1, says('b'))]);
      await store.post('a', { type: 'hello' });
      await store.lease('a', 'owner', 100, 0);
      await store.delete('a');
      await store.delete('nobody');
      assert.deepEqual(await store.lease('a', 'other', 100, 0), { ok: true });
    },
    async (store) => {
      assert.equal(await store.load('a'), null);
      assert.equal(await store.loadTurn('a', 1), null);
      assert.deepEqual(await store.steps('a'), []);
      assert.deepEqual(await store.posted(['a']), []);
      assert.deepEqual(
        (await store.list()).runs.map(({ runId }) => runId),
        ['b'],
      );
      assert.deepEqual((await store.loadTurn('b', 1))?.messages, says('b'));
    },
  ),
  promise(
    'prunes the older turns of runs that ended before, and keeps all else',
    async (store) => {
      for (const [id, status, atMs] of [
        ['old', 'completed', 10],
        ['open', 'waiting', 10],
        ['new', 'failed', 30],
      ] as const) {
        const run = stepsOf(id);
        for (const turn of [1, 2, 3]) {
          const { head, record, ...step } = run.turn(turn, says(`${turn}`));
          await store.save([{ ...step, head: { ...head, status }, record: { ...record, atMs } }]);
        }
      }
      await store.save([stepsOf('fork', { base: baseOf('old', 1) }).next()]);
      assert.equal(await store.prune({ endedBeforeMs: 20, keepTurns: 1 }), 2);
      assert.equal(await store.prune({ endedBeforeMs: 20, keepTurns: 1 }), 0);
    },
    async (store) => {
      const turnsOf = async (id: string) =>
        (await Promise.all([1, 2, 3].map((turn) => store.loadTurn(id, turn)))).map(Boolean);
      assert.deepEqual(await turnsOf('old'), [false, false, true]);
      assert.deepEqual(await turnsOf('open'), [true, true, true]);
      assert.deepEqual(await turnsOf('new'), [true, true, true]);
      assert.deepEqual((await store.load('old'))?.messages, says('1', '2', '3'));
      assert.equal((await store.steps('old')).length, 3);
      assert.deepEqual((await store.load('fork'))?.messages, says('1'));
    },
  ),
  promise(
    'keeps the messages of an earlier generation as long as a turn or a fork needs them',
    async (store) => {
      const run = stepsOf('a');
      const ended = { head: { ...run.turn(1, []).head, status: 'completed' } } as const;
      const again = stepsOf('a');
      await store.save([again.turn(1, says('one', 'two'))]);
      await store.save([again.next({ generation: 1, messages: says('summary') })]);
      await store.save([{ ...again.turn(2, says('three')), ...ended }]);
      await store.save([stepsOf('fork', { base: baseOf('a', 1) }).next()]);
      assert.equal(await store.prune({ endedBeforeMs: 5_000, keepTurns: 2 }), 0);
      assert.deepEqual((await store.loadTurn('a', 1))?.messages, says('one', 'two'));
      assert.equal(await store.prune({ endedBeforeMs: 5_000, keepTurns: 0 }), 2);
    },
    async (store) => {
      assert.equal(await store.loadTurn('a', 1), null);
      assert.deepEqual((await store.load('a'))?.messages, says('summary', 'three'));
      assert.deepEqual((await store.load('fork'))?.messages, says('one'));
    },
  ),
];
