/** Runs of an older schema, with an upgrade that only this test has: from a version 0 to the present one. */
import { type Agent, createAgent, memoryStore, type RunSnapshot, type Store } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it, vi } from 'vitest';
import { readRun } from '../../src/cli/known-run.ts';
import { rehearse } from '../../src/cli/rehearse.ts';
import { explainTurn } from '../../src/cli/why.ts';
import { remoteRun } from '../../src/runtime/remote-run.ts';
import { checkTurn } from '../../src/runtime/stored-run.ts';
import type { SaveStep } from '../../src/stores/store.ts';
import { mailer } from './run-kit.ts';

vi.mock('../../src/core/upgrades.ts', () => ({
  upgrades: { to: 1, steps: new Map([[0, toVersion1]]) },
}));

interface Bag {
  readonly [field: string]: unknown;
}

/** In version 0, the account was `account`, the agent `title`, and a child knew its call as `call`. */
function toVersion1(snapshot: Bag): Bag {
  const { account, settings, ...context } = snapshot.context as Bag;
  const { title, ...known } = (settings ?? {}) as Bag;
  return {
    ...snapshot,
    context: {
      ...context,
      ...(account !== undefined && { ledger: account }),
      ...(settings !== undefined && { settings: { ...known, agent: title } }),
      schemaVersion: 1,
    },
    ...(snapshot.children !== undefined && {
      children: withCallContexts(snapshot.children as Bag, ({ call, ...own }) => ({
        ...own,
        callId: call,
      })),
    }),
  };
}

function withCallContexts(children: Bag, change: (context: Bag) => Bag): Bag {
  const entries = Object.entries(children).map(([id, child]) => {
    const { snapshot, ...rest } = child as { readonly snapshot: Bag };
    if (!id.startsWith('tool.')) return [id, child];
    return [id, { ...rest, snapshot: { ...snapshot, context: change(snapshot.context as Bag) } }];
  });
  return Object.fromEntries(entries);
}

const oldContext = ({ ledger, ...context }: Bag): Bag => ({
  ...context,
  ...(ledger !== undefined && { account: ledger }),
  schemaVersion: 0,
});

const oldSettings = ({ agent, ...settings }: Bag): Bag => ({
  ...settings,
  title: agent,
  schemaVersion: 0,
});

function oldSnapshot<Snapshot extends { readonly [field: string]: unknown }>(snapshot: Snapshot) {
  const context = oldContext(snapshot.context as Bag);
  const { settings } = context as { readonly settings?: Bag };
  const { schemaVersion: _, ...known } = settings ? oldSettings(settings) : {};
  return {
    ...snapshot,
    context: { ...context, ...(settings && { settings: known }) },
    children: withCallContexts(snapshot.children as Bag, ({ callId, ...own }) => ({
      ...own,
      call: callId,
    })),
  } as unknown as Snapshot;
}

const oldStep = (step: SaveStep): SaveStep =>
  ({
    ...step,
    begin: step.begin && {
      ...step.begin,
      lease: null,
      settings: oldSettings(step.begin.settings as unknown as Bag),
    },
    checkpoint: oldSnapshot(step.checkpoint),
    turnStart: step.turnStart && { ...step.turnStart, context: oldContext(step.turnStart.context) },
  }) as unknown as SaveStep;

function agentWith(store: Store) {
  const { tool, sent } = mailer();
  const model = scriptedModel([
    { toolUses: [{ id: 'a', name: 'send_mail', input: { to: 'Ada' } }] },
    'Ok.',
  ]);
  const agent = createAgent({ model, tools: [tool], store, name: 'postman' });
  return { agent, sent };
}

const goOn = scriptedModel(() => 'Ok.');

/** A store with the run `old` as version 0 would have left it: waiting for an approval. */
async function oldStore() {
  const steps: SaveStep[] = [];
  const store = memoryStore();
  const noting: Store = {
    ...store,
    save: (saved) => {
      steps.push(...structuredClone(saved));
      return store.save(saved);
    },
  };
  const run = agentWith(noting).agent.start('Write to Ada.', { runId: 'old' });
  await run.idle();
  const snapshot = oldSnapshot(JSON.parse(JSON.stringify(await run.suspend())) as RunSnapshot);
  const old = memoryStore();
  for (const step of steps) await old.save([oldStep(step)]);
  const { tool, sent } = mailer();
  const agent = createAgent({ model: goOn, tools: [tool], store: old, name: 'postman' });
  return { store: old, snapshot, agent, sent };
}

async function expectToEnd(agent: Agent, of: string | RunSnapshot, sent: readonly string[]) {
  const run = await agent.resume(of);
  expect(run.pending.map(({ callId }) => callId)).toEqual(['a']);
  await run.approve('a');
  expect(await run.result).toMatchObject({ status: 'completed', text: 'Ok.' });
  expect(sent).toEqual(['Ada']);
}

describe('a run of an older schema', () => {
  it('goes on by its id, and is saved in the present form with its next step', async () => {
    const { store, agent, sent } = await oldStore();
    const before = structuredClone(await store.load('old'));
    expect(before?.checkpoint.context).toMatchObject({ schemaVersion: 0 });
    const run = await agent.resume('old');
    expect(await store.load('old')).toEqual(before);
    await run.approve('a');
    const after = await store.load('old');
    expect(after?.checkpoint.context).toMatchObject({ schemaVersion: 1 });
    expect(after?.settings).toEqual(before?.settings);
    expect((await run.result).status).toBe('completed');
    expect(sent).toEqual(['Ada']);
  });

  it('goes on again after it was saved, though its settings are as old as before', async () => {
    const { store, agent, sent } = await oldStore();
    const run = await agent.resume('old');
    run.steer('Be quick.');
    await run.suspend();
    const saved = await store.load('old');
    expect(saved?.checkpoint.context).toMatchObject({ schemaVersion: 1 });
    await expectToEnd(agent, 'old', sent);
  });

  it('goes on from its snapshot', async () => {
    const { snapshot } = await oldStore();
    const { tool, sent } = mailer();
    const agent = createAgent({ model: goOn, tools: [tool], name: 'postman' });
    const text = JSON.stringify(snapshot);
    await expectToEnd(agent, snapshot, sent);
    expect(JSON.stringify(snapshot)).toBe(text);
  });

  it('goes on from its snapshot where the store has the same', async () => {
    const { snapshot, agent, sent } = await oldStore();
    await expectToEnd(agent, snapshot, sent);
  });

  it('is forked at a turn', async () => {
    const { agent, store } = await oldStore();
    const fork = await agent.fork('old', { atTurn: 1, runId: 'new' });
    expect(await fork.result).toMatchObject({
      status: 'completed',
      budget: { spend: { turns: 1 } },
    });
    expect((await store.load('old'))?.checkpoint.context).toMatchObject({ schemaVersion: 0 });
  });

  it('is looked at, told and rehearsed without being changed', async () => {
    const { agent, store } = await oldStore();
    const saved = await store.load('old');
    if (!saved) throw new Error('There is no run.');
    const before = structuredClone(saved);
    expect((await agent.history('old')).messages).toHaveLength(2);
    const { context, pending } = await readRun(store, 'old');
    expect(context?.settings.agent).toBe('postman');
    expect(pending.map(({ name }) => name)).toEqual(['send_mail']);
    const turn = await store.loadTurn('old', 1);
    expect(turn && explainTurn(checkTurn(turn)).target).toBe('callModel');
    expect(rehearse(saved, [mailer().tool])).toMatchObject({
      verdict: 'waits',
      needs: ['person'],
      notes: [expect.any(String), 'it is of schema version 0, and is read as 1'],
    });
    expect(await store.load('old')).toEqual(before);
    await remoteRun(store, 'old').deny('a', 'Not today.');
    expect(await store.posted(['old'])).toHaveLength(1);
  });
});
