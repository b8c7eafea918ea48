import { describe, expect, it } from 'vitest';
import type { Limits } from '../../src/core/budget.ts';
import { historyProblems, repairHistory } from '../../src/core/history.ts';
import { emittedIn } from './driver.ts';
import {
  type LoopEvent,
  lastContent,
  livingStates,
  oneCall,
  playRun,
  resultTexts,
  stateOf,
  timeIsUp,
} from './loop.ts';
import {
  again,
  answered,
  asksFor,
  failedWith,
  lost,
  modelBroke,
  modelDone,
  runInput,
  sampleTool,
  says,
  toolDone,
  toolUse,
  works,
} from './samples.ts';

describe('limits', () => {
  const turn = modelDone(asksFor(toolUse('a', 'put')));
  const answer = toolDone(answered('a'));

  /** A limit that lets one turn happen, and no second. */
  const tight: readonly (readonly [keyof Limits, Partial<Limits>, LoopEvent[]])[] = [
    ['maxTurns', { maxTurns: 1 }, [turn, answer]],
    ['maxInputTokens', { maxInputTokens: 120 }, [turn, answer]],
    ['maxOutputTokens', { maxOutputTokens: 25 }, [turn, answer]],
    ['maxTotalTokens', { maxTotalTokens: 140 }, [turn, answer]],
    ['maxCostMicros', { maxCostMicros: 140 }, [turn, answer]],
    ['maxActiveMs', { maxActiveMs: 1_000 }, [turn, timeIsUp]],
    ['maxRepeats', { maxRepeats: 1 }, [modelDone(asksFor(toolUse('a', 'again')))]],
    [
      'maxMalformedReplies',
      { maxMalformedReplies: 1 },
      [modelDone(asksFor(toolUse('a', 'nobody')))],
    ],
  ];
  const settings = {
    tools: [
      sampleTool({ name: 'put', effect: 'idempotent' }),
      sampleTool({ name: 'again', isRepeatable: false }),
    ],
  };
  const seeds = tight.map(([name, limits, events]) => [name, limits, events] as const);

  it.each(seeds)('%s ends the run, and is named with its numbers', (name, limits, events) => {
    const run = playRun(runInput({ settings: { ...settings, onLimit: 'stop' }, limits }));
    expect(stateOf(run.now)).toBe('callModel');
    run.send(...events);
    expect(run.now.output).toMatchObject({ status: 'exhausted', limit: { name } });
    expect(run.now.output?.limit?.used).toBeGreaterThanOrEqual(run.now.output?.limit?.max ?? 0);
    expect(historyProblems(run.now.context.messages)).toEqual([]);
  });

  it.each(seeds)(
    '%s waits for a raised budget when a person is to be asked',
    (name, limits, events) => {
      const run = playRun(runInput({ settings: { ...settings, onLimit: 'ask' }, limits }));
      run.send(...events);
      expect(stateOf(run.now)).toBe('awaitBudget');
      expect(run.now.hasTag('waitsForHuman')).toBe(true);
      expect(run.now.context.limit?.name).toBe(name);
      run.send({ type: 'budget.raised', limits: { [name]: null } });
      expect(stateOf(run.now)).toBe('callModel');
    },
  );

  it('goes on waiting when the wrong limit was raised', () => {
    const run = playRun(runInput({ settings: { onLimit: 'ask' }, limits: { maxTurns: 0 } }));
    run.send({ type: 'budget.raised', limits: { maxCostMicros: null } });
    expect(stateOf(run.now)).toBe('awaitBudget');
    expect(run.now.context.limit?.name).toBe('maxTurns');
  });

  it.each([
    ['maxTurns', { maxTurns: 2 }],
    ['maxInputTokens', { maxInputTokens: 400 }],
    ['maxOutputTokens', { maxOutputTokens: 49 }],
    ['maxTotalTokens', { maxTotalTokens: 460 }],
    ['maxCostMicros', { maxCostMicros: 460 }],
  ] as const)('%s leaves one last answer when the run is to wrap up', (name, limits) => {
    const run = playRun(runInput({ settings: { ...settings, onLimit: 'wrapUp' }, limits }));
    run.send(turn, answer);
    expect(stateOf(run.now)).toBe('wrapUp');
    expect(lastContent(run.now)).toMatchObject([{ text: expect.stringContaining(name) }]);
    run.send(modelDone(says('all I know')));
    expect(run.now.output).toMatchObject({
      status: 'exhausted',
      text: 'all I know',
      limit: { name },
    });
  });

  it.each([
    ['fails', modelDone(failedWith('provider_auth'))],
    ['is lost', modelDone(lost)],
    ['throws', modelBroke],
    ['would have to be repeated', modelDone(again({ attempt: 2 }, true))],
    ['asks for a tool', modelDone(asksFor(toolUse('z', 'mail')))],
    ['is refused', modelDone(says('no', 'refusal'))],
  ])('is exhausted all the same when the last answer %s', (_name, event) => {
    const run = playRun(runInput({ settings: { onLimit: 'wrapUp' }, limits: { maxTurns: 2 } }));
    run.send(modelDone(says('part', 'pause_turn')), event);
    expect(run.now.output).toMatchObject({ status: 'exhausted', limit: { name: 'maxTurns' } });
    expect(run.now.context.ledger.reserved).toEqual([]);
    expect(historyProblems(repairHistory(run.now.context.messages))).toEqual([]);
    expect(run.now.context.calls).toEqual([]);
  });

  it('does not even begin what it can’t afford', () => {
    const run = playRun(runInput({ limits: { maxCostMicros: 10 } }));
    expect(run.now.output).toMatchObject({ status: 'exhausted', turns: 0 });
  });

  it.each([
    [
      'a tool’s own limit',
      { tools: [sampleTool({ name: 'read', maxCalls: 1 })] },
      {},
      'may be called 1',
    ],
    ['the limit of the run', {}, { maxToolCalls: 1 }, 'may call tools 1 times'],
    [
      'the cost of a call',
      { tools: [sampleTool({ name: 'read', maxCostMicros: 100 })] },
      { maxCostMicros: 200 },
      'does not fit the budget (maxCostMicros)',
    ],
  ])('a batch can’t pass what single calls could not: %s', (_name, changed, limits, said) => {
    const run = playRun(runInput({ settings: changed, limits }));
    run.send(modelDone(asksFor(toolUse('a', 'read'), toolUse('b', 'read'))));
    expect(run.now.context.calls.map(({ ending }) => ending)).toEqual([null, 'notRun']);
    expect(run.now.context.calls[1]?.result?.content).toContain(said);
    expect(Object.keys(run.now.children)).toEqual(['tool.a']);
  });

  it('warns once of each limit that is nearly reached', () => {
    const run = playRun(runInput({ limits: { maxTurns: 2 } }));
    run.send(modelDone(lost));
    expect(emittedIn(run.wanted)).toEqual([]);
    run.send(modelDone(lost));
    expect(emittedIn(run.wanted)).toEqual([]);
    expect(run.now.context.warned).toEqual([]);
    const longer = playRun(runInput({ limits: { maxTurns: 5 } }));
    longer.send(modelDone(lost), modelDone(lost), modelDone(lost));
    expect(emittedIn(longer.wanted)).toEqual([]);
    longer.send(modelDone(lost));
    expect(emittedIn(longer.wanted)).toEqual([
      { type: 'limit.near', limit: { name: 'maxTurns', used: 4, max: 5 } },
    ]);
    expect(longer.now.context.warned).toEqual(['maxTurns']);
  });

  it('raises nothing but limits that exist, to values that limits can have', () => {
    const run = playRun();
    const limits = { maxTurns: 7, maxCostMicros: 'much', maxToolCalls: Number.NaN, colour: 3 };
    run.send({ type: 'budget.raised', limits: limits as unknown as Partial<Limits> });
    expect(run.now.context.ledger.limits).toEqual({
      ...runInput().limits,
      maxTurns: 7,
    });
  });
});

describe('the end of the active time', () => {
  const limits = { maxActiveMs: 1_000 };

  it.each(livingStates.filter(([state]) => state !== 'paused'))(
    'in %s ends the run, or waits for more',
    (_state, input, events) => {
      const run = playRun({ ...input, limits: { ...input.limits, ...limits } });
      run.send(...events, timeIsUp);
      const asks = input.settings.onLimit === 'ask';
      expect(stateOf(run.now)).toBe(asks ? 'awaitBudget' : 'exhausted');
      expect(run.now.context.ledger.activeMs).toBe(1_000);
      expect(run.now.context.ledger.reserved).toEqual([]);
      expect(historyProblems(repairHistory(run.now.context.messages))).toEqual([]);
    },
  );

  it('means nothing to a paused run, in which no time passes', () => {
    const run = playRun(runInput({ limits }));
    run.send({ type: 'run.paused' }, modelDone(lost));
    expect(run.now.can(timeIsUp)).toBe(false);
  });

  it('tells the model why its call was stopped', () => {
    const run = playRun(runInput({ settings: { onLimit: 'ask' }, limits }));
    run.send(oneCall, works('a', true), timeIsUp);
    expect(resultTexts(run.now)).toEqual([expect.stringContaining('used up its time')]);
    run.send({ type: 'budget.raised', limits: { maxActiveMs: 2_000 } });
    expect(stateOf(run.now)).toBe('callModel');
  });
});
