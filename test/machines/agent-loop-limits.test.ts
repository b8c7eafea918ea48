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
  deadlineDone,
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

describe('a deadline', () => {
  const limits = { deadlineAt: 100 };
  const deadline = ({ now }: ReturnType<typeof playRun>) => now.children.deadline?.getSnapshot();
  const raised = (deadlineAt: number | null, atMs?: number): LoopEvent => ({
    type: 'budget.raised',
    limits: { deadlineAt },
    ...(atMs !== undefined && { atMs }),
  });

  it('is watched from the beginning, and a run without one watches none', () => {
    expect(deadline(playRun(runInput({ limits })))).toMatchObject({ input: { at: 100 } });
    expect(playRun().now.children).not.toHaveProperty('deadline');
  });

  it.each(livingStates)('that comes in %s ends the run, or waits for more', (_, input, events) => {
    const run = playRun({ ...input, limits: { ...input.limits, ...limits } });
    run.send(...events, deadlineDone);
    const { onLimit } = input.settings;
    const end = onLimit === 'ask' ? 'awaitBudget' : onLimit === 'wrapUp' ? 'wrapUp' : 'exhausted';
    expect(stateOf(run.now)).toBe(end);
    expect(run.now.children).not.toHaveProperty('deadline');
    if (end === 'wrapUp') return;
    expect(run.now.context.limit).toEqual({ name: 'deadlineAt', used: 100, max: 100 });
    expect(run.now.context.ledger.reserved).toEqual([]);
    expect(historyProblems(repairHistory(run.now.context.messages))).toEqual([]);
  });

  it('tells the model why its call was stopped, and charges what may have been spent', () => {
    const run = playRun(runInput({ settings: { onLimit: 'ask' }, limits }));
    run.send(modelDone(asksFor(toolUse('a', 'put'))), works('a', true), deadlineDone);
    expect(resultTexts(run.now)).toEqual([expect.stringContaining('reached its deadline')]);
    expect(run.now.context.ledger.uncertain.costMicros).toBe(5);
  });

  it('charges the model call that it stops', () => {
    const run = playRun(runInput({ limits }));
    run.send(deadlineDone);
    expect(stateOf(run.now)).toBe('exhausted');
    expect(run.now.context.ledger.uncertain.turns).toBe(1);
  });

  it('leaves one last answer under wrapUp, and no second one', () => {
    const run = playRun(runInput({ settings: { onLimit: 'wrapUp' }, limits }));
    run.send(oneCall, deadlineDone);
    expect(stateOf(run.now)).toBe('wrapUp');
    expect(JSON.stringify(lastContent(run.now))).toContain('(deadlineAt)');
    run.send(modelDone(says('What I know.')));
    expect(run.now.output).toMatchObject({
      status: 'exhausted',
      text: 'What I know.',
      limit: { name: 'deadlineAt', used: 100, max: 100 },
    });
  });

  it('does not stop a last answer that another limit asked for', () => {
    const run = playRun(
      runInput({ settings: { onLimit: 'wrapUp' }, limits: { ...limits, maxTurns: 2 } }),
    );
    run.send(modelDone(says('part', 'pause_turn')));
    expect(stateOf(run.now)).toBe('wrapUp');
    const { modelCall } = run.now.children;
    run.send(deadlineDone);
    expect(stateOf(run.now)).toBe('wrapUp');
    expect(run.now.children.modelCall).toBe(modelCall);
    run.send(modelDone(says('What I know.')));
    expect(run.now.output).toMatchObject({ text: 'partWhat I know.', limit: { name: 'maxTurns' } });
  });

  it.each([
    ['stop', 'exhausted', 0],
    ['wrapUp', 'wrapUp', 1],
    ['ask', 'awaitBudget', 0],
  ] as const)('that has passed at the start leaves no turn: under %s', (onLimit, state, turns) => {
    const run = playRun({ ...runInput({ settings: { onLimit }, limits }), atMs: 150 });
    expect(stateOf(run.now)).toBe(state);
    expect(run.now.context).toMatchObject({ turn: turns });
    expect(run.now.context.limit).toEqual({ name: 'deadlineAt', used: 150, max: 100 });
    expect(run.now.children).not.toHaveProperty('deadline');
  });

  it('follows when it is put off, and goes when it is taken away', () => {
    const run = playRun(runInput({ limits }));
    run.send(raised(300));
    expect(deadline(run)).toMatchObject({ input: { at: 300 } });
    run.send({ type: 'budget.raised', limits: { maxTurns: 9 } });
    expect(deadline(run)).toMatchObject({ input: { at: 300 } });
    run.send(raised(null));
    expect(run.now.children).not.toHaveProperty('deadline');
    expect(stateOf(run.now)).toBe('callModel');
  });

  it('can be set while the run goes on', () => {
    const run = playRun();
    run.send(oneCall, raised(300));
    expect(deadline(run)).toMatchObject({ input: { at: 300 } });
    run.send(deadlineDone);
    expect(run.now.output).toMatchObject({ limit: { name: 'deadlineAt', max: 300 } });
  });

  it('is asked for under ask, and the run goes on only with a later one', () => {
    const run = playRun(runInput({ settings: { onLimit: 'ask' }, limits }));
    run.send(deadlineDone, raised(120, 150));
    expect(stateOf(run.now)).toBe('awaitBudget');
    expect(run.now.context.limit).toEqual({ name: 'deadlineAt', used: 150, max: 120 });
    run.send({ type: 'budget.raised', limits: { maxTurns: 99 }, atMs: 160 });
    expect(stateOf(run.now)).toBe('awaitBudget');
    run.send(raised(200, 160));
    expect(stateOf(run.now)).toBe('callModel');
    expect(deadline(run)).toMatchObject({ input: { at: 200 } });
  });

  it('comes before a pause, which is kept for a run that goes on', () => {
    const run = playRun(runInput({ settings: { onLimit: 'ask' }, limits }));
    run.send({ type: 'run.paused' }, modelDone(lost));
    expect(stateOf(run.now)).toBe('paused');
    run.send(deadlineDone);
    expect(stateOf(run.now)).toBe('awaitBudget');
    run.send(raised(200));
    expect(stateOf(run.now)).toBe('paused');
    run.send({ type: 'run.resumed' });
    expect(stateOf(run.now)).toBe('callModel');
  });

  it('is watched again by a run that was restored without its watch', () => {
    const run = playRun(runInput({ settings: { onLimit: 'ask' }, limits }));
    run.send({ type: 'actor.restored' });
    expect(deadline(run)).toMatchObject({ input: { at: 100 } });
    run.send(deadlineDone, { type: 'actor.restored' });
    expect(run.now.children).not.toHaveProperty('deadline');
  });

  it.each([Number.NaN, -1, '2030', {}])('is not moved to %j', (junk) => {
    const run = playRun(runInput({ limits }));
    run.send({
      type: 'budget.raised',
      limits: { deadlineAt: junk as number },
      atMs: junk as number,
    });
    expect(run.now.context.ledger).toMatchObject({ limits: { deadlineAt: 100 }, clockMs: 0 });
    expect(deadline(run)).toMatchObject({ input: { at: 100 } });
  });
});
