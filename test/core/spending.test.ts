import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LimitName, Limits } from '../../src/core/budget.ts';
import {
  type Amount,
  charge,
  limitPassedBy,
  nothing,
  readMeter,
  reserve,
} from '../../src/core/ledger.ts';
import { text, tokensAtMost } from '../../src/core/message.ts';
import { costAtMostMicros } from '../../src/core/price.ts';
import type { RunContext } from '../../src/core/run-context.ts';
import {
  canWrapUp,
  cutBy,
  forgiven,
  inputAtMost,
  limitReached,
  newWarnings,
  reservationFor,
  windowReached,
  wrapUpNotice,
} from '../../src/core/spending.ts';
import { sampleModel, sampleRun } from './sample-run.ts';

/** A run whose next request has exactly 1000 tokens at most. */
const run = (limits: Partial<Limits> = {}, change: Partial<RunContext> = {}): RunContext => ({
  ...sampleRun({}, limits),
  contextTokens: 1_000,
  ...change,
});
const spent = (context: RunContext, amount: Partial<Amount>): RunContext => ({
  ...context,
  ledger: reserve(context.ledger, 'before', { ...nothing, ...amount }),
});
const notice = tokensAtMost([text(wrapUpNotice({ name: 'maxMalformedReplies', used: 0, max: 0 }))]);

describe('inputAtMost', () => {
  it('is what was counted, and the bytes of what was steered since', () => {
    expect(inputAtMost(run())).toBe(1_000);
    const steered = [text('grüße')];
    expect(inputAtMost(run({}, { steered }))).toBe(1_000 + tokensAtMost(steered));
  });

  it('is a byte bound for a model that did not count', () => {
    const models = [sampleModel, { ...sampleModel, id: 'other' }] as const;
    const context = sampleRun({ models: [...models] });
    const fallback = { ...context, contextTokens: 5, plan: { ...context.plan, model: 1 } };
    expect(inputAtMost(fallback)).toBe(context.contextTokens);
    expect(inputAtMost({ ...fallback, countedBy: 1 })).toBe(5);
  });
});

describe('limitReached', () => {
  // A call takes at least: 1 turn, 1000 tokens in, 100 out, 1000 × 4 + 100 × 10 micro-dollars.
  it.each<[string, Partial<Limits>, Partial<Amount>, LimitName | null]>([
    ['no limit', {}, { turns: 1e6, inputTokens: 1e9 }, null],
    ['one turn left', { maxTurns: 3 }, { turns: 2 }, null],
    ['no turn left', { maxTurns: 3 }, { turns: 3 }, 'maxTurns'],
    ['no turn from the start', { maxTurns: 0 }, {}, 'maxTurns'],
    ['just enough input', { maxInputTokens: 1_500 }, { inputTokens: 500 }, null],
    [
      'one token of input too few',
      { maxInputTokens: 1_499 },
      { inputTokens: 500 },
      'maxInputTokens',
    ],
    ['just enough for the least output', { maxOutputTokens: 100 }, {}, null],
    ['one token of output too few', { maxOutputTokens: 99 }, {}, 'maxOutputTokens'],
    ['just enough in all', { maxTotalTokens: 1_100 }, {}, null],
    ['one token in all too few', { maxTotalTokens: 1_099 }, {}, 'maxTotalTokens'],
    ['just enough money', { maxCostMicros: 5_000 }, {}, null],
    ['one micro-dollar too few', { maxCostMicros: 4_999 }, {}, 'maxCostMicros'],
  ])('with %s', (_, limits, before, expected) => {
    expect(limitReached(spent(run(limits), before))?.name ?? null).toBe(expected);
  });

  it.each<[Partial<RunContext>, Partial<Limits>, LimitName | null]>([
    [{ repeats: 2 }, { maxRepeats: 3 }, null],
    [{ repeats: 3 }, { maxRepeats: 3 }, 'maxRepeats'],
    [{ repeats: 9 }, { maxRepeats: null }, null],
    [{ repeats: 0 }, { maxRepeats: 0 }, null],
    [{ repeats: 1 }, { maxRepeats: 0 }, 'maxRepeats'],
    [{ malformedReplies: 1 }, { maxMalformedReplies: 2 }, null],
    [{ malformedReplies: 2 }, { maxMalformedReplies: 2 }, 'maxMalformedReplies'],
    [{ malformedReplies: 1 }, { maxMalformedReplies: 0 }, 'maxMalformedReplies'],
  ])('of %j under %j', (change, limits, expected) => {
    expect(limitReached(run(limits, change))?.name ?? null).toBe(expected);
  });

  it('holds back a last answer under wrapUp, and nothing else', () => {
    const wrapsUp = (limits: Partial<Limits>) => ({
      ...sampleRun({ onLimit: 'wrapUp' }, limits),
      contextTokens: 1_000,
    });
    const bothInputs = 1_000 + (1_000 + 100 + notice);
    expect(limitReached(wrapsUp({ maxTurns: 2 }))).toBeNull();
    expect(limitReached(wrapsUp({ maxTurns: 1 }))?.name).toBe('maxTurns');
    expect(limitReached(wrapsUp({ maxInputTokens: bothInputs }))).toBeNull();
    expect(limitReached(wrapsUp({ maxInputTokens: bothInputs - 1 }))?.name).toBe('maxInputTokens');
    expect(canWrapUp(wrapsUp({ maxTurns: 1, maxInputTokens: 1_000 + notice }))).toBe(true);
    expect(canWrapUp(wrapsUp({ maxTurns: 0 }))).toBe(false);
    expect(canWrapUp(wrapsUp({ maxInputTokens: 1_000 + notice - 1 }))).toBe(false);
  });

  it('ends active time, also for a last answer', () => {
    const context = run({ maxActiveMs: 500 });
    const late = { ...context, ledger: readMeter(context.ledger, 500) };
    expect(limitReached(late)?.name).toBe('maxActiveMs');
    expect(canWrapUp(late)).toBe(false);
  });
});

it('says which limit was reached in any notice, within the tokens that are held back', () => {
  const names: readonly LimitName[] = [
    'maxTurns',
    'maxCostMicros',
    'maxMalformedReplies',
    'maxContinuations',
    'maxPauses',
    'deadlineAt',
    'contextWindow',
  ];
  for (const name of names) {
    const said = wrapUpNotice({ name, used: 1, max: 1 });
    expect(said).toContain(`(${name})`);
    expect(tokensAtMost([text(said)])).toBeLessThanOrEqual(notice);
  }
  expect(tokensAtMost([text(wrapUpNotice(null))])).toBeLessThan(notice);
});

describe('reservationFor', () => {
  it.each<[string, Partial<Limits>, number]>([
    ['all that the model can say', {}, 1_000],
    ['all, to the brim', { maxOutputTokens: 1_000 }, 1_000],
    ['one less', { maxOutputTokens: 999 }, 999],
    ['the least', { maxOutputTokens: 100 }, 100],
    ['what the sum leaves', { maxTotalTokens: 1_234 }, 234],
    ['what the money buys', { maxCostMicros: 4_000 + 3_210 }, 321],
    ['what the money buys, not a micro-dollar more', { maxCostMicros: 4_000 + 3_209 }, 320],
  ])('takes %s', (_, limits, outputTokens) => {
    expect(reservationFor(run(limits), 'turn')).toEqual({
      turns: 1,
      inputTokens: 1_000,
      outputTokens,
      costMicros: costAtMostMicros(sampleModel.price, 1_000, outputTokens),
    });
  });

  it('leaves room for no larger reply than it takes', () => {
    let shrunk = 0;
    const limits = fc.record({
      maxTotalTokens: fc.option(fc.nat(6_000)),
      maxOutputTokens: fc.option(fc.nat(3_000)),
      maxCostMicros: fc.option(fc.nat(40_000)),
    });
    const onLimit = fc.constantFrom('wrapUp' as const, 'stop' as const);
    fc.assert(
      fc.property(limits, onLimit, fc.nat(2_000), (some, policy, contextTokens) => {
        const context = { ...sampleRun({ onLimit: policy }, some), contextTokens };
        fc.pre(limitReached(context) === null);
        const { outputTokens } = reservationFor(context, 'turn');
        expect(outputTokens).toBeGreaterThanOrEqual(sampleModel.minOutputTokens);
        if (outputTokens === sampleModel.maxOutputTokens) return;
        shrunk += 1;
        const one = { ...sampleModel, minOutputTokens: outputTokens + 1 };
        const larger = { ...context, settings: { ...context.settings, models: [one] as const } };
        // The held-back answer is that of the model, so only `stop` can be compared exactly.
        if (policy === 'stop') expect(limitReached(larger)).not.toBeNull();
      }),
      { numRuns: 1_000 },
    );
    expect(shrunk).toBeGreaterThan(100);
  });
});

describe('cutBy', () => {
  it.each<[string, number, Partial<Limits>, LimitName]>([
    ['the model itself', 1_000, {}, 'maxReplyTokens'],
    [
      'the model, although the budget is nearly used up',
      1_000,
      { maxOutputTokens: 10 },
      'maxReplyTokens',
    ],
    ['the budget', 500, { maxOutputTokens: 600 }, 'maxOutputTokens'],
    ['the money', 500, { maxCostMicros: 9_000 }, 'maxCostMicros'],
    ['nobody that is known now', 500, {}, 'maxReplyTokens'],
  ])('names %s', (_, replyCap, limits, expected) => {
    expect(cutBy(run(limits, { replyCap })).name).toBe(expected);
  });
});

it('names the context window with its numbers, as far as they are known', () => {
  expect(windowReached(run())).toEqual({ name: 'contextWindow', used: 1_000, max: 200_000 });
  const unknown = sampleRun({ models: [{ ...sampleModel, contextWindow: null }] });
  const { used, max } = windowReached(unknown);
  expect(max).toBe(used);
});

it('warns once of each limit that is nearly reached', () => {
  const reserved = spent(run({ maxTurns: 10, maxOutputTokens: 100 }), {
    turns: 8,
    outputTokens: 79,
  });
  expect(newWarnings(reserved)).toEqual([]);
  const context = { ...reserved, ledger: charge(reserved.ledger, 'before') };
  expect(newWarnings(context)).toEqual([{ name: 'maxTurns', used: 8, max: 10 }]);
  expect(newWarnings({ ...context, warned: ['maxTurns'] })).toEqual([]);
});

it.each<[Partial<Limits>, Partial<RunContext>]>([
  [{ maxRepeats: 5 }, { repeats: 0 }],
  [{ maxRepeats: null }, { repeats: 0 }],
  [{ maxMalformedReplies: 5 }, { malformedReplies: 0 }],
  [{ maxTurns: 5 }, {}],
])('raising %j forgives just that', (limits, expected) => {
  expect(forgiven(limits)).toEqual(expected);
});

it('asks the ledger about the very amounts that it reserves', () => {
  const context = run({ maxTotalTokens: 1_500, maxCostMicros: 8_000 });
  const taken = reservationFor(context, 'turn');
  expect(limitPassedBy(context.ledger, taken)).toBeNull();
  expect(limitPassedBy(reserve(context.ledger, 'model', taken), taken)).not.toBeNull();
});
