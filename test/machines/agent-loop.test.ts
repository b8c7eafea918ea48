/** The agent loop, played by hand: each test is the script of a run, event by event. */
import { describe, expect, it } from 'vitest';
import { committed } from '../../src/core/ledger.ts';
import { text, userMessage } from '../../src/core/message.ts';
import type { StopReason } from '../../src/core/reply.ts';
import {
  compacting,
  lastContent,
  oneCall,
  playRun,
  resultsIn,
  resultTexts,
  stateOf,
  waysTo,
} from './loop.ts';
import {
  again,
  compactBroke,
  compactDone,
  failedWith,
  lost,
  modelBroke,
  modelDone,
  reply,
  runInput,
  sampleModel,
  says,
  toolUse,
} from './samples.ts';

describe('the ways to the states, which other tests here begin with', () => {
  it.each(waysTo)('%s', (state, input, events) => {
    const run = playRun(input);
    run.send(...events);
    expect(stateOf(run.now)).toBe(state);
  });
});

describe('where a reply leads', () => {
  it.each<[StopReason, string]>([
    ['end_turn', 'completed'],
    ['stop_sequence', 'completed'],
    ['unknown', 'completed'],
    ['tool_use', 'completed'],
    ['max_tokens', 'exhausted'],
    ['model_context_window_exceeded', 'exhausted'],
    ['pause_turn', 'callModel'],
    ['compaction', 'callModel'],
    ['refusal', 'refused'],
  ])('a text that stopped with %s leads to %s', (stopReason, state) => {
    const run = playRun();
    run.send(modelDone(says('text', stopReason)));
    expect(stateOf(run.now)).toBe(state);
    expect(run.now.context.stopReason).toBe(stopReason);
    expect(run.now.context.ledger.spent.turns).toBe(1);
  });

  it('keeps the provider’s own word for a stop reason that nobody knew', () => {
    const run = playRun();
    run.send(modelDone(says('text', 'unknown')));
    expect(run.now.context).toMatchObject({ rawStopReason: 'a_new_reason', answer: 'text' });
  });

  it.each(['pause_turn', 'compaction'] as const)(
    'after %s it asks again, adding nothing',
    (why) => {
      const run = playRun();
      run.send(modelDone(says('part', why)));
      expect(run.now.context.messages).toEqual([
        userMessage('begin'),
        { role: 'assistant', content: [text('part')] },
      ]);
    },
  );

  it('an empty reply ends the run with an empty answer', () => {
    const run = playRun();
    run.send(modelDone(reply('end_turn')));
    expect(run.now.value).toBe('completed');
    expect(run.now.output).toMatchObject({ status: 'completed', text: '' });
    expect(run.now.context.messages).toEqual([userMessage('begin')]);
  });

  it.each([
    ['max_tokens', 'cut off at the output limit'],
    ['unknown', 'the reply ended early (unknown)'],
    ['end_turn', 'the reply ended early (end_turn)'],
    ['stop_sequence', 'the reply ended early (stop_sequence)'],
    ['model_context_window_exceeded', 'the reply ended early'],
  ] as const)(
    'a tool use in a reply that stopped with %s is answered and never run',
    (why, said) => {
      const run = playRun();
      run.send(modelDone(reply(why, toolUse('a', 'mail'))));
      expect(run.now.context.calls).toEqual([]);
      expect(resultsIn(run.now)).toMatchObject([{ tool_use_id: 'a', is_error: true }]);
      expect(resultTexts(run.now)).toEqual([expect.stringContaining(said)]);
      expect(run.wanted.map(({ type }) => type)).not.toContain('xstate.spawnChild toolCall');
    },
  );

  it('asks again after a cut tool use, although cut texts end the run', () => {
    const run = playRun();
    run.send(modelDone(reply('max_tokens', toolUse('a', 'mail'))));
    expect(stateOf(run.now)).toBe('callModel');
    expect(lastContent(run.now)).toEqual(resultsIn(run.now));
  });

  it('says which limit cut a text', () => {
    const run = playRun();
    run.send(modelDone(says('part', 'max_tokens')));
    expect(run.now.output?.limit).toEqual({ name: 'maxReplyTokens', used: 100, max: 100 });
    expect(run.now.output?.text).toBe('part');
  });

  it('names the budget when it left no room for the model’s longest reply', () => {
    const run = playRun(runInput({ limits: { maxOutputTokens: 40 } }));
    expect(run.now.context.replyCap).toBe(40);
    run.send(modelDone(says('part', 'max_tokens')));
    expect(run.now.output?.limit?.name).toBe('maxOutputTokens');
  });

  it('leaves a refused turn out of the history, and tells what was said', () => {
    const run = playRun();
    run.send(modelDone(says('I will not', 'refusal')));
    expect(run.now.value).toBe('refused');
    expect(run.now.context.messages).toEqual([userMessage('begin')]);
    expect(run.now.output?.refusal).toEqual({
      text: 'I will not',
      category: null,
      explanation: null,
    });
  });
});

describe('continuations', () => {
  const continuing = runInput({ settings: { onTruncated: 'continue' } });

  it('asks for the rest of a cut text, and joins the parts', () => {
    const run = playRun(continuing);
    run.send(modelDone(says('one ', 'max_tokens')));
    expect(lastContent(run.now)).toEqual([text('Please continue where you stopped.')]);
    run.send(modelDone(says('two')));
    expect(run.now.output).toMatchObject({ status: 'completed', text: 'one two' });
  });

  it.each(['pause_turn', 'compaction', 'max_tokens'] as const)('ends after five of %s', (why) => {
    const run = playRun(continuing);
    for (let count = 0; count < 5; count += 1) run.send(modelDone(says('.', why)));
    expect(stateOf(run.now)).toBe('callModel');
    run.send(modelDone(says('.', why)));
    expect(run.now.output).toMatchObject({
      status: 'exhausted',
      text: '......',
      limit: { name: why === 'max_tokens' ? 'maxContinuations' : 'maxPauses', used: 5, max: 5 },
    });
  });

  it('counts anew after a whole reply', () => {
    const run = playRun(continuing);
    run.send(modelDone(says('.', 'pause_turn')), oneCall);
    expect(run.now.context.continuations).toBe(0);
  });

  it('goes on with a text that filled the context window, once the transcript is shorter', () => {
    const messages = [userMessage('1'), userMessage('2')];
    const run = playRun(runInput({ settings: compacting, messages }));
    run.send(
      modelDone(says('one ', 'model_context_window_exceeded')),
      compactDone([userMessage('in short'), { role: 'assistant', content: [text('one ')] }]),
    );
    expect(stateOf(run.now)).toBe('callModel');
    expect(lastContent(run.now)).toEqual([text('Please continue where you stopped.')]);
    run.send(modelDone(says('two')));
    expect(run.now.output?.text).toBe('one two');
  });
});

const unreadable = (): never => {
  throw new Error('not to be read');
};

describe('failed model calls', () => {
  it.each([
    ['not billed', failedWith('provider_auth'), { turns: 1, costMicros: 0 }, 0],
    [
      'perhaps billed',
      failedWith('stream_interrupted', { mayHaveBilled: true }),
      { turns: 0, costMicros: 0 },
      1,
    ],
  ])('ends the run and accounts for it: %s', (_name, outcome, spent, uncertainTurns) => {
    const run = playRun();
    run.send(modelDone(outcome));
    expect(run.now.output).toMatchObject({ status: 'failed', failure: outcome.failure });
    expect(run.now.context.ledger.spent).toMatchObject(spent);
    expect(run.now.context.ledger.uncertain.turns).toBe(uncertainTurns);
    expect(run.now.context.ledger.reserved).toEqual([]);
  });

  it('charges a lost call in full and makes another', () => {
    const run = playRun();
    const reserved = committed(run.now.context.ledger);
    run.send(modelDone(lost));
    expect(stateOf(run.now)).toBe('callModel');
    expect(run.now.context.ledger.uncertain).toEqual(reserved);
    expect(run.now.context.turn).toBe(2);
  });

  it.each([
    ['not billed', false, 0],
    ['perhaps billed', true, 155],
  ])('repeats an attempt as the same turn: %s', (_name, mayHaveBilled, outputAndInput) => {
    const run = playRun();
    run.send(modelDone(again({ attempt: 2, retryAt: 99 }, mayHaveBilled)));
    const { context } = run.now;
    expect(stateOf(run.now)).toBe('callModel');
    expect(context.turn).toBe(1);
    expect(context.plan).toMatchObject({ attempt: 2, retryAt: 99 });
    expect(context.ledger.uncertain.turns).toBe(0);
    expect(context.ledger.uncertain.costMicros > 0).toBe(outputAndInput > 0);
  });

  it('asks the budget before a fallback model, at that model’s price', () => {
    const dear = { ...sampleModel, id: 'dear', price: { input: 100, output: 100 } };
    const run = playRun(
      runInput({ settings: { models: [sampleModel, dear] }, limits: { maxCostMicros: 2_000 } }),
    );
    run.send(modelDone(again({ model: 1 }, false)));
    expect(run.now.output).toMatchObject({ status: 'exhausted', limit: { name: 'maxCostMicros' } });
  });

  it.each([
    ['a model call that throws', [modelBroke], 'internal'],
    [
      'a compaction that throws',
      [modelDone(says('part', 'model_context_window_exceeded')), compactBroke],
      'compaction_failed',
    ],
  ] as const)('%s ends the run as failed', (_name, events, code) => {
    const messages = [userMessage('1'), userMessage('2')];
    const run = playRun(runInput({ settings: compacting, messages }));
    run.send(...events);
    expect(run.now.output).toMatchObject({
      status: 'failed',
      failure: { code, message: 'broken' },
    });
  });

  it.each([
    ['an object without a prototype', Object.create(null)],
    ['an object that throws when it is read', { toString: () => unreadable() }],
    ['a symbol', Symbol('broken')],
    ['nothing', undefined],
  ])('bears any thrown value: %s', (_name, error) => {
    const run = playRun();
    run.send({ type: 'xstate.error.actor.modelCall', actorId: 'modelCall', error });
    expect(run.now.value).toBe('failed');
    expect(run.now.context.failure?.message).toMatch(/\S/);
  });

  it('makes the transcript shorter when a prompt is too long, and tries again', () => {
    const messages = [userMessage('1'), userMessage('2'), userMessage('3')];
    const run = playRun(runInput({ settings: compacting, messages }));
    run.send(modelDone(failedWith('context_exceeded')));
    expect(stateOf(run.now)).toBe('compactContext');
    run.send(compactDone([userMessage('in short')]));
    expect(stateOf(run.now)).toBe('callModel');
    run.send(modelDone(failedWith('context_exceeded')));
    expect(run.now.output?.failure?.code).toBe('context_exceeded');
  });

  it('compacts again when a compaction was lost', () => {
    const messages = [userMessage('1'), userMessage('2'), userMessage('3')];
    const run = playRun(runInput({ settings: { compactAtTokens: 1 }, messages }));
    run.send(compactDone(null));
    expect(stateOf(run.now)).toBe('compactContext');
  });
});
