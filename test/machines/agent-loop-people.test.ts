import { describe, expect, it } from 'vitest';
import type { InputFrom } from 'xstate';
import { historyProblems, repairHistory } from '../../src/core/history.ts';
import { committed } from '../../src/core/ledger.ts';
import { text, userMessage } from '../../src/core/message.ts';
import {
  cancelled,
  type Loop,
  type LoopEvent,
  livingStates,
  oneCall,
  playRun,
  resultTexts,
  stateOf,
  steer,
} from './loop.ts';
import {
  again,
  answered,
  asksFor,
  lost,
  modelBroke,
  modelDone,
  runInput,
  says,
  toolDone,
  toolUse,
  waitsForApproval,
  waitsForSettlement,
  works,
} from './samples.ts';

describe('steering', () => {
  it.each(livingStates.filter(([state]) => state !== 'wrapUp'))(
    'in %s joins the next request',
    (_state, input, events) => {
      const run = playRun(input);
      run.send(...events, steer('and this'));
      expect(run.now.context.steered.at(-1)).toEqual(text('and this'));
    },
  );

  it('makes the run go on after an answer', () => {
    const run = playRun();
    run.send(steer('and this'), modelDone(says('done')));
    expect(stateOf(run.now)).toBe('callModel');
    expect(run.now.context.messages).toEqual([
      userMessage('begin'),
      { role: 'assistant', content: [text('done')] },
      userMessage('and this'),
    ]);
  });
});

describe('what was steered when no model call follows', () => {
  const limited = { limits: { maxTurns: 1 } };
  const paused: LoopEvent[] = [{ type: 'run.paused' }, modelDone(lost)];

  it.each<[string, InputFrom<Loop>, LoopEvent[], LoopEvent[]]>([
    ['cancelled', runInput(), [], [cancelled]],
    ['cancelled', runInput(), [oneCall, works('a', true)], [cancelled]],
    ['cancelled', runInput(), paused, [cancelled]],
    ['exhausted', runInput(limited), [oneCall], [toolDone(answered('a'))]],
    ['exhausted', runInput(limited), [], [modelDone(says('done'))]],
    ['refused', runInput(), [], [modelDone(says('no', 'refusal'))]],
    ['failed', runInput(), [], [modelBroke]],
    [
      'exhausted',
      runInput({ settings: { onLimit: 'wrapUp' }, limits: { maxTurns: 2 } }),
      [modelDone(says('part', 'pause_turn'))],
      [modelDone(says('done'))],
    ],
  ])('joins the history of a run that ends as %s (%#)', (status, input, before, after) => {
    const run = playRun(input);
    run.send(...before, steer('and this'), ...after);
    const { context } = run.now;
    expect(stateOf(run.now)).toBe(status);
    expect(context.messages.at(-1)).toEqual(userMessage('and this'));
    expect(context.steered).toEqual([]);
    expect(historyProblems(repairHistory(context.messages))).toEqual([]);
    const [last] = repairHistory(context.messages).slice(-1);
    expect(last?.content.at(-1)).toEqual(text('and this'));
  });
});

describe('pause', () => {
  it('lets what runs come to its end, and then starts nothing', () => {
    const run = playRun();
    run.send({ type: 'run.paused' }, oneCall);
    expect(stateOf(run.now)).toBe('executeTools.working');
    run.send(toolDone(answered('a')));
    expect(stateOf(run.now)).toBe('paused');
    expect(run.now.hasTag('waitsForHuman')).toBe(true);
    run.send(steer('and this'), { type: 'budget.raised', limits: { maxTurns: 9 } });
    expect(stateOf(run.now)).toBe('paused');
    run.send({ type: 'run.resumed' });
    expect(stateOf(run.now)).toBe('callModel');
    expect(run.now.context.ledger.limits.maxTurns).toBe(9);
  });

  it('is taken back by a resume before it came about', () => {
    const run = playRun();
    run.send({ type: 'run.paused' }, { type: 'run.resumed' }, modelDone(lost));
    expect(stateOf(run.now)).toBe('callModel');
  });

  it('does not keep a run from its answer', () => {
    const run = playRun();
    run.send({ type: 'run.paused' }, modelDone(says('done')));
    expect(run.now.value).toBe('completed');
  });

  it('keeps the plan of a call that is to be repeated', () => {
    const run = playRun();
    run.send({ type: 'run.paused' }, modelDone(again({ attempt: 2 }, false)), {
      type: 'run.resumed',
    });
    expect(run.now.context.plan.attempt).toBe(2);
    expect(run.now.context.turn).toBe(1);
  });
});

describe('cancel', () => {
  it.each(livingStates)('in %s ends the run with a valid history', (_state, input, events) => {
    const run = playRun(input);
    run.send(...events, cancelled);
    const { value, context } = run.now;
    expect(value).toBe('cancelled');
    expect(context.cancelReason).toBe('enough');
    expect(context.ledger.reserved).toEqual([]);
    expect(context.calls).toEqual([]);
    expect(historyProblems(repairHistory(context.messages))).toEqual([]);
  });

  it('says of each open call whether it may have acted', () => {
    const run = playRun();
    const uses = [
      toolUse('a', 'put'),
      toolUse('b', 'put'),
      toolUse('c', 'put'),
      toolUse('d', 'put'),
    ];
    run.send(modelDone(asksFor(...uses)), works('a', true), waitsForApproval('b'));
    run.send(waitsForSettlement('c'), cancelled);
    const may = expect.stringContaining('it may have taken effect');
    const not = 'Not executed: The run was cancelled.';
    expect(resultTexts(run.now)).toEqual([may, not, may, not]);
    expect(run.now.context.ledger.uncertain.costMicros).toBe(10);
  });

  it('charges a model call that is under way in full', () => {
    const run = playRun();
    const before = committed(run.now.context.ledger);
    run.send(cancelled);
    expect(committed(run.now.context.ledger)).toEqual(before);
  });
});
