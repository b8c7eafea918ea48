import { describe, expect, it } from 'vitest';
import { readRun } from '../../src/cli/known-run.ts';
import { type Decision, explain, explainTurn } from '../../src/cli/why.ts';
import type { AgentOptions } from '../../src/runtime/agent-options.ts';
import type { Store } from '../../src/stores/store.ts';
import { storeWithRun, wantsMail } from './stored-kit.ts';

async function explained(
  script: Parameters<typeof storeWithRun>[0],
  options: Partial<AgentOptions> = {},
) {
  const store = await storeWithRun(script, options);
  const { saved, context } = await readRun(store, 'mail');
  if (context === null) throw new Error('The run can not be read.');
  const { state, turn } = saved.head;
  return { state, ...explain(state, context, await store.loadTurn('mail', turn)) };
}

const answers = (decision: Decision | null) =>
  decision && {
    state: decision.state,
    asked: decision.asked.map(({ guard, answer }) => `${guard} ${answer ? 'yes' : 'no'}`),
    target: decision.target,
  };

async function turnOf(store: Store, turn: number) {
  const saved = await store.loadTurn('mail', turn);
  if (!saved) throw new Error('There is no such turn.');
  return explainTurn(saved);
}

describe('why a run is where it is', () => {
  it('waits for an approval, because the reply wanted tools', async () => {
    const { state, before, now, awaited } = await explained([wantsMail]);
    expect(state).toBe('executeTools.waiting');
    expect(answers(before)).toEqual({
      state: 'routeToolUse',
      asked: ['isRefusal no', 'wantsTools yes'],
      target: 'executeTools',
    });
    expect(now.map(answers)).toEqual([
      { state: 'executeTools.waiting', asked: ['isWorking no'], target: null },
      { state: 'executeTools', asked: ['areAllSettled no'], target: null },
    ]);
    expect(awaited).toContainEqual({
      event: 'approval.granted',
      branches: [{ guard: 'isApprovable', target: null }],
    });
    expect(awaited.map(({ event }) => event)).toContain('run.cancelled');
  });

  it.each<[string, Parameters<typeof storeWithRun>[0], Partial<AgentOptions>, string, string]>([
    ['completed', ['Hello.'], {}, 'routeToolUse', 'hasMoreToSay no'],
    ['refused', [{ text: 'No.', stopReason: 'refusal' }], {}, 'routeToolUse', 'isRefusal yes'],
    ['exhausted', ['x'], { budget: { maxTurns: 0 } }, 'checkBudget', 'isOverBudget yes'],
    [
      'exhausted',
      [{ text: 'Half', stopReason: 'max_tokens' }],
      {},
      'routeToolUse',
      'isTextCut yes',
    ],
    [
      'awaitBudget',
      ['x'],
      { budget: { maxTurns: 0 }, onLimit: 'ask' },
      'checkBudget',
      'mayAskForBudget yes',
    ],
  ])('%s by the last answer of %s', async (expected, script, options, decision, last) => {
    const { state, before } = await explained(script, options);
    expect(state).toBe(expected);
    expect(before?.state).toBe(decision);
    expect(before?.target).toBe(expected);
    expect(answers(before)?.asked.at(-1)).toBe(last);
  });

  it('names no decision where an event led to the end', async () => {
    const { state, before, awaited } = await explained([
      { error: { status: 401, type: 'authentication_error', message: 'no' } },
    ]);
    expect(state).toBe('failed');
    expect(before).toBeNull();
    expect(awaited).toEqual([]);
  });

  it('has the numbers that the budget check looked at, for each turn', async () => {
    const budget = { maxTurns: 9, maxActiveMs: 60_000 };
    const store = await storeWithRun([wantsMail, 'Done.'], {
      permissions: { otherwise: 'allow' },
      budget,
    });
    const facts = async (turn: number) =>
      (await turnOf(store, turn)).asked.find(({ guard }) => guard === 'isOverBudget')?.facts;
    expect(await facts(1)).toMatch(/^turns 0 of 9, time 0 ms of 1\.0 min, repeats 0 of 3/);
    expect(await facts(2)).toMatch(/^turns 1 of 9, time \d+ ms of 1\.0 min, repeats 1 of 3/);
    expect(await turnOf(store, 2)).toMatchObject({ state: 'checkBudget', target: 'callModel' });
  });

  it('says when the deadline is, and that it has passed', async () => {
    const options = { permissions: { otherwise: 'allow' } } as const;
    const ahead = await explained([wantsMail, 'Done.'], {
      ...options,
      budget: { deadlineAt: new Date('2100-01-01T00:00:00Z'), maxTurns: 1 },
    });
    expect(ahead.before?.asked.at(-1)?.facts).toContain('deadline 2100-01-01T00:00:00.000Z');
    const past = await explained([wantsMail], { ...options, budget: { deadlineAt: 5_000 } });
    expect(past.before?.asked.at(-1)).toMatchObject({ guard: 'isOverBudget', answer: true });
    expect(past.before?.asked.at(-1)?.facts).toMatch(
      /deadline 1970-01-01T00:00:05.000Z, deadlineAt has passed: it was 20/,
    );
  });

  it('says which limit another call would pass', async () => {
    const { before } = await explained([wantsMail], {
      permissions: { otherwise: 'allow' },
      budget: { maxTurns: 1 },
    });
    expect(before?.asked.at(-1)?.facts).toContain('another call: maxTurns 2 of 1');
  });
});
