import assert from 'node:assert/strict';
import type { Json } from '../core/json.ts';
import type { ToolResult } from '../core/message.ts';
import type { SaveStep, Store } from '../stores/store.ts';
import { type Promised, promise } from './store-promise.ts';
import { says, settingsOf, stepsOf } from './store-steps.ts';

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const markOf = async (store: Store, runId: string): Promise<Json | undefined> =>
  (await store.load(runId))?.checkpoint.mark;

const result = (id: string): ToolResult => ({
  type: 'tool_result',
  tool_use_id: id,
  content: `result of ${id}`,
});

const hostileIds = [
  '__proto__',
  'constructor',
  "a'; DROP TABLE runs; --",
  '../a',
  'ä😀',
  ' ',
  '',
  'a\0b',
  'a',
  '\ud800',
  '\ud801',
  '\ufffd',
  '%',
  '"',
];

const hostileContent = JSON.parse(
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{}},"xstate$$type":1,"lc":1,"type":"constructor","text":"\\u0000\\ud83d \\u2028 \\udc00","1e21":1e21}',
) as { readonly [key: string]: Json };

export const savePromises: readonly Promised[] = [
  promise('knows nothing of a run that was never saved', async (store) => {
    assert.equal(await store.load('nobody'), null);
    assert.equal(await store.loadTurn('nobody', 1), null);
    assert.deepEqual(await store.steps('nobody'), []);
  }),
  promise(
    'gives back the newest save, with its version and all messages',
    async (store) => {
      const run = stepsOf('a');
      assert.deepEqual(await store.save([run.next({ messages: says('one', 'two') })]), []);
      assert.deepEqual(await store.save([run.next({ messages: says('three') })]), []);
      assert.deepEqual(await store.save([run.next()]), []);
    },
    async (store) => {
      assert.deepEqual(asJson(await store.load('a')), {
        runId: 'a',
        saveVersion: 3,
        settings: asJson(settingsOf('a')),
        checkpoint: { mark: 'a/3' },
        generation: 0,
        messages: asJson(says('one', 'two', 'three')),
        results: [],
        head: asJson(stepsOf('a').next().head),
        forkOf: null,
      });
    },
  ),
  promise(
    'refuses a step that does not follow the newest save, and keeps that save',
    async (store) => {
      const [a, b] = [stepsOf('a'), stepsOf('b')];
      const first = a.next({ messages: says('one') });
      const second = a.next({ messages: says('two') });
      await store.save([first, b.next()]);
      await store.save([second]);
      const late = { ...second, checkpoint: { mark: 'late' } };
      assert.deepEqual(await store.save([late]), [{ runId: 'a', why: 'stale' }]);
      assert.deepEqual(await store.save([first]), [{ runId: 'a', why: 'exists' }]);
      const ahead = b.next({ follows: 7 });
      assert.deepEqual(await store.save([ahead]), [{ runId: 'b', why: 'stale' }]);
      const unknown = stepsOf('c').next({ follows: 1, begin: null });
      assert.deepEqual(await store.save([unknown]), [{ runId: 'c', why: 'stale' }]);
    },
    async (store) => {
      assert.equal(await markOf(store, 'a'), 'a/2');
      assert.equal((await store.load('a'))?.messages.length, 2);
      assert.equal((await store.steps('a')).length, 2);
      assert.equal((await store.load('b'))?.saveVersion, 1);
      assert.equal(await store.load('c'), null);
    },
  ),
  promise(
    'saves the other steps of a transaction in which one is refused',
    async (store) => {
      await store.save([stepsOf('a').next()]);
      const steps = [stepsOf('b').next(), stepsOf('a').next(), stepsOf('c').next()];
      assert.deepEqual(await store.save(steps), [{ runId: 'a', why: 'exists' }]);
    },
    async (store) => {
      assert.equal(await markOf(store, 'b'), 'b/1');
      assert.equal(await markOf(store, 'c'), 'c/1');
    },
  ),
  promise(
    'takes several steps of one run in one save',
    async (store) => {
      const run = stepsOf('a');
      await store.save([run.next({ messages: says('one') }), run.next({ messages: says('two') })]);
    },
    async (store) => {
      assert.equal((await store.load('a'))?.saveVersion, 2);
      assert.deepEqual((await store.load('a'))?.messages, says('one', 'two'));
    },
  ),
  promise(
    'saves nothing of a transaction that it rejects: here, messages would leave a gap',
    async (store) => {
      const run = stepsOf('a');
      await store.save([run.next({ messages: says('one') })]);
      const gap = run.next({ position: 5, messages: says('six') });
      await assert.rejects(store.save([stepsOf('b').next(), gap]), Error);
      await assert.rejects(store.save([stepsOf('c').next({ begin: null })]), Error);
    },
    async (store) => {
      assert.equal((await store.load('a'))?.saveVersion, 1);
      assert.equal(await store.load('b'), null);
      assert.equal(await store.load('c'), null);
    },
  ),
  promise('lets exactly one of two writers win', async (store) => {
    const run = stepsOf('a');
    await store.save([run.next()]);
    const step = run.next();
    const refused = await Promise.all([store.save([step]), store.save([step])]);
    assert.deepEqual(refused.flat(), [{ runId: 'a', why: 'stale' }]);
    assert.equal((await store.load('a'))?.saveVersion, 2);
  }),
  promise(
    'keeps the results of an open batch, in order',
    async (store) => {
      const run = stepsOf('a');
      await store.save([run.next({ results: [result('one')] })]);
      await store.save([run.next({ results: [result('two'), result('three')] })]);
      await store.save([run.next()]);
    },
    async (store) => {
      const expected = [result('one'), result('two'), result('three')];
      assert.deepEqual((await store.load('a'))?.results, expected);
    },
  ),
  promise(
    'drops the results with the step that closes the batch, and takes those of the next one',
    async (store) => {
      const [a, b] = [stepsOf('a'), stepsOf('b')];
      await store.save([a.next({ results: [result('one')] }), b.next({ results: [result('b')] })]);
      await store.save([a.next({ results: [result('two')], closesBatch: true })]);
      assert.deepEqual((await store.load('a'))?.results, []);
      await store.save([a.next({ results: [result('three')] })]);
    },
    async (store) => {
      assert.deepEqual((await store.load('a'))?.results, [result('three')]);
      assert.deepEqual((await store.load('b'))?.results, [result('b')]);
    },
  ),
  promise(
    'begins the transcript again with a new generation',
    async (store) => {
      const run = stepsOf('a');
      await store.save([run.turn(1, says('one', 'two'))]);
      await store.save([run.next({ generation: 1, messages: says('summary') })]);
      await store.save([run.turn(2, says('three'))]);
    },
    async (store) => {
      const saved = await store.load('a');
      assert.equal(saved?.generation, 1);
      assert.deepEqual(saved.messages, says('summary', 'three'));
      assert.deepEqual((await store.loadTurn('a', 1))?.messages, says('one', 'two'));
      assert.equal((await store.loadTurn('a', 1))?.generation, 0);
      assert.deepEqual((await store.loadTurn('a', 2))?.messages, says('summary', 'three'));
    },
  ),
  promise(
    'keeps what each turn began with',
    async (store) => {
      const run = stepsOf('a');
      for (const turn of [1, 2, 3]) await store.save([run.turn(turn, says(`before ${turn}`))]);
      await store.save([run.next({ messages: says('after') })]);
    },
    async (store) => {
      for (const turn of [1, 2, 3]) {
        assert.deepEqual(asJson(await store.loadTurn('a', turn)), {
          turn,
          generation: 0,
          length: turn,
          context: { turn, ledger: { spent: turn * 10, limit: 5 }, fixed: 'fixed' },
          settings: asJson(settingsOf('a')),
          messages: asJson(says('before 1', 'before 2', 'before 3').slice(0, turn)),
        });
      }
      for (const turn of [0, 4, -1, 1.5]) assert.equal(await store.loadTurn('a', turn), null);
    },
  ),
  promise(
    'tells the story of a run, oldest step first',
    async (store) => {
      const run = stepsOf('a');
      for (const number of [1, 2, 3]) await store.save([run.next({ record: record(number) })]);
    },
    async (store) => {
      const expected = [1, 2, 3].map((number) => ({ saveVersion: number, ...record(number) }));
      assert.deepEqual(asJson(await store.steps('a')), expected);
    },
  ),
  promise(
    'takes any text as the id of a run',
    async (store) => {
      for (const id of hostileIds) {
        assert.deepEqual(await store.save([stepsOf(id).turn(1, says(`hello ${id.length}`))]), []);
        await store.post(id, { type: 'hello', id: JSON.stringify(id) });
        assert.deepEqual(await store.lease(id, id, 10, 0), { ok: true });
      }
    },
    async (store) => {
      for (const id of hostileIds) {
        assert.equal((await store.load(id))?.runId, id);
        assert.equal(await markOf(store, id), `${id}/1`);
        assert.equal((await store.loadTurn(id, 1))?.messages.length, 1);
        const posted = await store.posted([id]);
        assert.deepEqual(
          posted.map(({ runId, event }) => [runId, event.id]),
          [[id, JSON.stringify(id)]],
        );
        const answer = { ok: false, owner: id, untilMs: 10 };
        assert.deepEqual(await store.lease(id, 'other', 20, 5), answer);
      }
      const { runs } = await store.list({ limit: 100 });
      assert.deepEqual(new Set(runs.map(({ runId }) => runId)), new Set(hostileIds));
    },
  ),
  promise(
    'keeps hostile content as it is',
    async (store) => {
      const run = stepsOf('a');
      const content = [{ type: 'image', ...hostileContent }] as const;
      const step = run.turn(1, [{ role: 'user', content: [{ ...content[0], type: 'image' }] }]);
      const turnStart = step.turnStart && { ...step.turnStart, context: hostileContent };
      await store.save([{ ...step, checkpoint: hostileContent, turnStart }]);
      const second = run.turn(2, says('\ud800', '\0'));
      const changed = { ...hostileContent, more: hostileContent };
      const next = second.turnStart && { ...second.turnStart, context: changed };
      await store.save([{ ...second, checkpoint: hostileContent, turnStart: next }]);
    },
    async (store) => {
      const saved = await store.load('a');
      assert.equal(JSON.stringify(saved?.checkpoint), JSON.stringify(hostileContent));
      assert.deepEqual(saved?.messages.slice(1), says('\ud800', '\0'));
      assert.equal(Object.hasOwn(saved.messages[0]?.content[0] ?? {}, '__proto__'), true);
      const second = (await store.loadTurn('a', 2))?.context ?? {};
      assert.equal(JSON.stringify(second.more), JSON.stringify(hostileContent));
      assert.equal(Object.hasOwn(second, '__proto__'), true);
      assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
    },
  ),
  promise('may be closed twice', async (store) => {
    await store.save([stepsOf('a').next()]);
    await store.close();
    await store.close();
  }),
];

const record = (number: number) => ({
  atMs: 1_000 + number,
  state: `executeTools.${number}`,
  cause: `cause ${number}`,
  turn: number,
  spend: { inputTokens: number, outputTokens: 2, costMicros: 3, activeMs: number * 1_000 },
  events: hostileEvents.slice(0, number),
});

/** Whatever a person typed, or a model said, may be in them. */
const hostileEvents: SaveStep['record']['events'] = [
  {
    turn: 1,
    event: { type: 'xstate.done.actor.tool', output: { callId: "'); --", result: null } },
  },
  {
    turn: 2,
    event: JSON.parse(
      '{"type":"approval.granted","input":{"__proto__":{"type":0,"a":[0,{"b":0}]},"constructor":0,"type":"\\ud800"}}',
    ),
  },
  { turn: 3, event: { type: 'a\0b', deep: { 1: { 2: { 3: { 4: { 5: { 6: { 7: {} } } } } } } } } },
];
