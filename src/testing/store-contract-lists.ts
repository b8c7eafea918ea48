import assert from 'node:assert/strict';
import type { RunHead, RunQuery, Store, WaitingFor } from '../stores/store.ts';
import { type Promised, promise } from './store-promise.ts';
import { stepsOf } from './store-steps.ts';

const waitsFor = (reason: WaitingFor['for']): WaitingFor => ({
  for: reason,
  callId: 'call',
  tool: 'mail',
});

const heads: readonly (readonly [string, number, Partial<RunHead>])[] = [
  ['a', 10, { status: 'completed', agent: 'writer', tags: ['x', "y' OR 1=1 --"] }],
  ['b', 30, { status: 'waiting', agent: 'writer', waits: [waitsFor('approval')] }],
  ['c', 20, { status: 'running', tags: ['x', '\ud800'] }],
  ['d', 20, { status: 'waiting', waits: [waitsFor('budget'), waitsFor('settlement')] }],
  ['e', 5, { status: 'failed', agent: '__proto__', tags: ['\ud801', '%'] }],
];

async function saveAll(store: Store): Promise<void> {
  for (const [id, atMs, head] of heads) {
    const step = stepsOf(id).next();
    await store.save([
      { ...step, head: { ...step.head, ...head }, record: { ...step.record, atMs } },
    ]);
  }
}

const idsOf = async (store: Store, query?: RunQuery): Promise<string> =>
  (await store.list(query)).runs.map(({ runId }) => runId).join('');

/** A query, and the runs it finds in their order. */
const queries: readonly (readonly [RunQuery, string])[] = [
  [{}, 'bdcae'],
  [{ status: ['waiting'] }, 'bd'],
  [{ status: ['completed', 'failed'] }, 'ae'],
  [{ status: [] }, ''],
  [{ agent: 'writer' }, 'ba'],
  [{ agent: '__proto__' }, 'e'],
  [{ agent: 'nobody' }, ''],
  [{ tag: 'x' }, 'ca'],
  [{ tag: "y' OR 1=1 --" }, 'a'],
  [{ tag: '\ud800' }, 'c'],
  [{ tag: '%' }, 'e'],
  [{ waitsFor: 'approval' }, 'b'],
  [{ waitsFor: 'budget' }, 'd'],
  [{ waitsFor: 'settlement' }, 'd'],
  [{ waitsFor: 'resume' }, ''],
  [{ updatedBeforeMs: 20 }, 'ae'],
  [{ agent: 'writer', tag: 'x', status: ['completed'] }, 'a'],
];

export const listPromises: readonly Promised[] = [
  promise('lists runs by each filter, newest first', saveAll, async (store) => {
    assert.equal(await idsOf(store), 'bdcae');
    for (const [query, expected] of queries) {
      assert.equal(await idsOf(store, query), expected, JSON.stringify(query));
    }
  }),
  promise('lists runs page by page, each once', saveAll, async (store) => {
    for (const limit of [1, 2, 3, 5]) {
      let after: string | null = null;
      let found = '';
      do {
        const query: RunQuery = { limit, ...(after !== null && { after }) };
        const page = await store.list(query);
        assert.ok(page.runs.length <= limit);
        found += page.runs.map(({ runId }) => runId).join('');
        after = page.next;
      } while (after !== null);
      assert.equal(found, 'bdcae');
    }
    const { next } = await store.list({ tag: 'x', limit: 1 });
    assert.equal(await idsOf(store, { tag: 'x', limit: 1, after: next ?? '' }), 'a');
  }),
  promise(
    'shows of each run what its newest save says',
    async (store) => {
      const run = stepsOf('a', { forkOf: { runId: 'z', turn: 2 } });
      const first = run.next();
      const second = run.next();
      const head: RunHead = { ...second.head, tags: ['new'], status: 'waiting', turn: 3 };
      await store.save([{ ...first, head: { ...first.head, tags: ['old'] } }]);
      await store.save([
        {
          ...second,
          head: { ...head, waits: [waitsFor('approval')] },
          record: { ...second.record, atMs: 2_000 },
        },
      ]);
    },
    async (store) => {
      assert.deepEqual(JSON.parse(JSON.stringify(await store.list({ tag: 'new' }))), {
        runs: [
          {
            runId: 'a',
            status: 'waiting',
            state: 'callModel',
            agent: null,
            tags: ['new'],
            turn: 3,
            waits: [waitsFor('approval')],
            saveVersion: 2,
            createdAtMs: 1_000,
            updatedAtMs: 2_000,
            forkOf: { runId: 'z', turn: 2 },
          },
        ],
        next: null,
        damaged: [],
      });
      assert.equal(await idsOf(store, { tag: 'old' }), '');
    },
  ),
  promise('rejects a query that it does not understand', async (store) => {
    const wrong: readonly object[] = [
      { limit: 0 },
      { limit: 1.5 },
      { after: "1' OR 1=1" },
      { after: '' },
      { tags: ['x'] },
      { "tag' = 'x": 'x' },
    ];
    for (const query of wrong) {
      await assert.rejects(store.list(query), { code: 'invalid_input' }, JSON.stringify(query));
    }
  }),
];
