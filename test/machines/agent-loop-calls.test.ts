import { describe, expect, it } from 'vitest';
import { historyProblems, repairHistory } from '../../src/core/history.ts';
import { errorResult, text } from '../../src/core/message.ts';
import { emittedIn, sentIn } from './driver.ts';
import { type LoopEvent, playRun, resultsIn, stateOf, steer } from './loop.ts';
import {
  answered,
  asksFor,
  modelDone,
  toolBroke,
  toolDone,
  toolUse,
  waitsForApproval,
  waitsForSettlement,
  works,
} from './samples.ts';

describe('tool calls', () => {
  const twoCalls = modelDone(asksFor(toolUse('a', 'mail'), toolUse('b', 'read')));

  it('starts a child for each call that may run, without its arguments', () => {
    const run = playRun();
    run.send(modelDone(asksFor(toolUse('a', 'mail', { secret: 1 }), toolUse('b', 'nobody'))));
    const started = run.wanted.filter(({ type }) => type === 'xstate.spawnChild');
    expect(started.map(({ params }) => params)).toMatchObject([
      { id: 'tool.a', src: 'toolCall', input: { callId: 'a', effect: 'once', maxRetries: 0 } },
    ]);
    expect(run.now.context.calls[1]).toMatchObject({ id: 'b', ending: 'malformed' });
  });

  it('sends all results together, in the order of the uses, before anything else', () => {
    const run = playRun();
    run.send(
      twoCalls,
      steer('and this'),
      toolDone(answered('b', 'B')),
      toolDone(answered('a', 'A')),
    );
    expect(stateOf(run.now)).toBe('callModel');
    expect(repairHistory(run.now.context.messages).at(-1)?.content).toEqual([
      answered('a', 'A').result,
      answered('b', 'B').result,
      text('and this'),
    ]);
    expect(historyProblems(repairHistory(run.now.context.messages))).toEqual([]);
  });

  it('answers a call whose child broke with what broke it', () => {
    const run = playRun();
    run.send(twoCalls, toolDone(answered('b')), toolBroke('a'));
    expect(resultsIn(run.now)).toEqual([
      errorResult('a', 'The call failed: broken'),
      answered('b').result,
    ]);
  });

  it('waits for people once every open call does, and is busy before', () => {
    const run = playRun();
    run.send(twoCalls, waitsForApproval('a'));
    expect(stateOf(run.now)).toBe('executeTools.working');
    run.send(waitsForSettlement('b'));
    expect(stateOf(run.now)).toBe('executeTools.waiting');
    run.send(works('a', true));
    expect(stateOf(run.now)).toBe('executeTools.working');
  });

  it('tells people what they are asked', () => {
    const run = playRun();
    run.send(twoCalls, waitsForApproval('a'));
    expect(emittedIn(run.wanted)).toEqual([waitsForApproval('a')]);
  });

  const waiting = [twoCalls, waitsForApproval('a'), waitsForSettlement('b')];

  it.each<[string, LoopEvent, LoopEvent]>([
    [
      'an approval, without the edit, which children never hold',
      { type: 'approval.granted', callId: 'a', argumentsHash: 'hash', input: { to: 'you' } },
      { type: 'approval.granted', callId: 'a', argumentsHash: 'hash' },
    ],
    [
      'a denial',
      { type: 'approval.denied', callId: 'a', reason: 'no' },
      { type: 'approval.denied', callId: 'a', reason: 'no' },
    ],
    [
      'a settlement',
      { type: 'call.settled', callId: 'b', content: 'sent' },
      { type: 'call.settled', callId: 'b', content: 'sent' },
    ],
    ['a retry', { type: 'call.retried', callId: 'b' }, { type: 'call.retried', callId: 'b' }],
  ])('passes on %s', (_name, event, passed) => {
    const run = playRun();
    run.send(...waiting, event);
    const to = 'callId' in event ? `tool.${event.callId}` : '';
    expect(sentIn(run.wanted)).toEqual([{ to, event: passed }]);
  });

  it('keeps the arguments that a person put in place of the model’s, and hears of them once', () => {
    const run = playRun();
    const granted = { type: 'approval.granted', callId: 'a', argumentsHash: 'hash' } as const;
    run.send(...waiting, { ...granted, input: { to: 'you' } });
    expect(run.now.context.calls[0]?.editedInput).toEqual({ to: 'you' });
    run.send(granted);
    expect(run.now.context.calls[0]?.editedInput).toEqual({ to: 'you' });
    expect(run.now.can(granted)).toBe(false);
  });

  it.each<[string, LoopEvent]>([
    [
      'of a call that nobody knows',
      { type: 'approval.granted', callId: 'z', argumentsHash: 'hash' },
    ],
    ['named __proto__', { type: 'approval.granted', callId: '__proto__', argumentsHash: 'hash' }],
    ['named constructor', { type: 'approval.denied', callId: 'constructor' }],
    ['for other arguments', { type: 'approval.granted', callId: 'a', argumentsHash: 'other' }],
    ['for no arguments', { type: 'approval.granted', callId: 'a' } as never],
    ['of a call that needs a settlement', { type: 'approval.denied', callId: 'b' }],
    ['that settles what waits for an approval', { type: 'call.settled', callId: 'a', content: '' }],
    ['that retries what waits for an approval', { type: 'call.retried', callId: 'a' }],
    ['that settles nothing', { type: 'call.settled', callId: 'toString', content: '' }],
  ])('ignores a decision %s', (_name, event) => {
    const run = playRun();
    run.send(...waiting);
    const before = run.now;
    expect(before.can(event)).toBe(false);
    run.send(event);
    expect(run.now.context).toEqual(before.context);
    expect(run.wanted).toEqual([]);
  });

  it('ignores a decision on a call that is settled', () => {
    const run = playRun();
    run.send(...waiting, toolDone(answered('a')));
    expect(run.now.can({ type: 'approval.granted', callId: 'a', argumentsHash: 'hash' })).toBe(
      false,
    );
    expect(run.now.can({ type: 'approval.denied', callId: 'a' })).toBe(false);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'carries out a call whose id is %s',
    (id) => {
      const run = playRun();
      run.send(modelDone(asksFor(toolUse(id, 'mail'))), waitsForApproval(id));
      expect(Object.keys(run.now.children)).toEqual([`tool.${id}`]);
      run.send({ type: 'approval.granted', callId: id, argumentsHash: 'hash' });
      expect(sentIn(run.wanted)).toMatchObject([{ to: `tool.${id}` }]);
      run.send(toolDone(answered(id)));
      expect(stateOf(run.now)).toBe('callModel');
      expect(resultsIn(run.now)).toEqual([answered(id).result]);
    },
  );

  it.each(['__proto__', 'constructor', 'hasOwnProperty'])('knows no tool named %s', (name) => {
    const run = playRun();
    run.send(modelDone(asksFor(toolUse('a', name))));
    expect(resultsIn(run.now)).toMatchObject([{ tool_use_id: 'a', is_error: true }]);
  });

  it('gives calls of one id ids of their own', () => {
    const run = playRun();
    run.send(
      modelDone(asksFor(toolUse('a', 'read'), toolUse('a', 'mail'), toolUse('a.b', 'read'))),
    );
    expect(run.now.context.calls.map(({ id }) => id)).toEqual(['a', 'a_2', 'a_b']);
  });
});
