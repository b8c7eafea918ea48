import { memoryStore, type Store, sqliteStore } from 'pawl';
import { describe, expect, it } from 'vitest';
import { replayRun } from '../../src/runtime/replay.ts';
import type { SavedRun, StepRecord } from '../../src/stores/store.ts';
import { pathMaker } from '../stores/sqlite-files.ts';
import { echo, finish, mailer, scripted, uses } from './run-kit.ts';

const newPath = pathMaker();
const says = (text: string) => uses({ id: `said_${text}`, name: 'echo', input: { text } });
const mail = uses(
  { id: 'one', name: 'send_mail', input: { to: 'Ada' } },
  { id: 'two', name: 'echo', input: { text: 'hm' } },
);

function agentIn(store: Store, script: Parameters<typeof scripted>[0], options = {}) {
  const permissions = { ask: ['send_mail'] };
  return scripted(script, { store, tools: [echo, mailer().tool], permissions, ...options }).agent;
}

/** A run with most of what a run can have: parallel calls, an edited approval, steering, two answers. */
async function longRun(store: Store): Promise<void> {
  const agent = agentIn(store, [says('a'), mail, says('b'), 'Done.']);
  const run = agent.start('Go.', { runId: 'long' });
  expect(await run.idle()).toBe('waiting');
  run.steer('And be quick.');
  await run.approve('one', { input: { to: 'Grace' } });
  await finish(run);
}

describe('a replay', () => {
  it.each([
    ['memory', () => memoryStore()],
    ['SQLite', () => sqliteStore(newPath())],
  ])('of a run in %s comes out as it is stored', async (_, open) => {
    const store = open();
    await longRun(store);
    const { head } = (await store.load('long')) as SavedRun;
    const replay = await replayRun(store, 'long');
    expect(replay).toMatchObject({ runId: 'long', fromTurn: 1, turns: head.turn, results: 4 });
    expect(replay.replies).toBe(head.turn);
    expect(replay.difference).toBeNull();
    await store.close();
  });

  it('goes on through a run that had ended and was taken up again', async () => {
    const store = sqliteStore(newPath());
    const agent = agentIn(store, [says('a'), says('b'), 'Done.'], { budget: { maxTurns: 1 } });
    await finish(agent.start('Go.', { runId: 'again' }));
    await finish(await agent.resume('again', { budget: { maxTurns: 5 } }));
    const replay = await replayRun(store, 'again');
    expect(replay).toMatchObject({ fromTurn: 1, turns: 3, replies: 3, difference: null });
    await store.close();
  });

  it('begins a fork with the turn that it was forked at, and a pruned run with the first turn kept', async () => {
    const store = sqliteStore(newPath());
    await longRun(store);
    const fork = await agentIn(store, ['Done at once.']).fork('long', { atTurn: 2, runId: 'fork' });
    await finish(fork);
    expect(await replayRun(store, 'fork')).toMatchObject({ fromTurn: 2, difference: null });
    const { head } = (await store.load('long')) as SavedRun;
    await store.prune({ endedBeforeMs: Date.now() + 1_000, keepTurns: 2 });
    const pruned = await replayRun(store, 'long');
    expect(pruned).toMatchObject({ fromTurn: head.turn - 1, turns: 2, difference: null });
    await store.close();
  });

  it('of a last answer begins before the notice that asked for it', async () => {
    const store = sqliteStore(newPath());
    const options = { budget: { maxTurns: 2 }, onLimit: 'wrapUp' };
    await finish(
      agentIn(store, [says('a'), 'In short.'], options).start('Go.', { runId: 'short' }),
    );
    expect((await store.loadTurn('short', 2))?.messages).toHaveLength(3);
    await store.prune({ endedBeforeMs: Date.now() + 1_000, keepTurns: 1 });
    expect(await replayRun(store, 'short')).toMatchObject({ fromTurn: 2, difference: null });
    await store.close();
  });

  it('refuses a run that it does not know, and one that has made no model call', async () => {
    const store = memoryStore();
    await expect(replayRun(store, 'nobody')).rejects.toMatchObject({ code: 'unknown_run' });
    const never = agentIn(store, ['x'], { budget: { maxTurns: 0 } });
    await finish(never.start('Go.', { runId: 'never' }));
    await expect(replayRun(store, 'never')).rejects.toMatchObject({ code: 'invalid_input' });
  });
});

type Tampering = Partial<Record<'load' | 'steps', (stored: never) => unknown>>;

/** The store as one in which the run had gone another way. */
const tampered = (store: Store, { load, steps }: Tampering): Store => ({
  ...store,
  load: async (runId) => {
    const saved = await store.load(runId);
    return (load ? load(saved as never) : saved) as SavedRun;
  },
  steps: async (runId) => {
    const kept = structuredClone(await store.steps(runId));
    return (steps ? steps(kept as never) : kept) as readonly StepRecord[];
  },
});

describe('the first difference', () => {
  const without = (type: string) => (steps: readonly StepRecord[]) =>
    steps.map((step) => ({
      ...step,
      events: step.events.filter(({ event }) => event.type !== type),
    }));
  const changed = (from: string, to: string) => (value: unknown) =>
    JSON.parse(JSON.stringify(value).replace(from, to));

  it.each<[string, Tampering, RegExp]>([
    ['a reply that cost more', { steps: changed('"outputTokens":', '"outputTokens":9') }, /^spend/],
    ['a reply that was never heard', { steps: without('xstate.done.actor.modelCall') }, /^state$/],
    ['a message that was never steered', { steps: without('message.steered') }, /^context\./],
    ['a tool with a lower limit', { load: changed('"maxCalls":null', '"maxCalls":0') }, /./],
    [
      'another answer at last',
      { load: changed('"answer":"Done."', '"answer":"Else."') },
      /answer$/,
    ],
  ])('shows %s', async (_, tampering, path) => {
    const store = memoryStore();
    await longRun(store);
    const { difference } = await replayRun(tampered(store, tampering), 'long');
    expect(difference?.path).toMatch(path);
  });
});
