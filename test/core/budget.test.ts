import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Budget,
  codeOfLimit,
  describeLimit,
  type LimitName,
  limitsOf,
  namedLimits,
} from '../../src/core/budget.ts';
import { PawlError } from '../../src/core/errors.ts';

const unlimited = {
  maxInputTokens: null,
  maxOutputTokens: null,
  maxTotalTokens: null,
  maxCostMicros: null,
  maxActiveMs: null,
  maxToolCalls: null,
  deadlineAt: null,
};
const integerFields = [
  'maxTurns',
  'maxInputTokens',
  'maxOutputTokens',
  'maxTotalTokens',
  'maxToolCalls',
  'maxRepeats',
  'maxMalformedReplies',
] as const;
const fields = [...integerFields, 'maxCostUsd', 'maxActiveMs', 'deadlineAt'] as const;

function thrownBy(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

describe('limitsOf', () => {
  it.each<[string, Budget, object]>([
    ['nothing: the three defaults', {}, {}],
    ['undefined: the default', { maxTurns: undefined as unknown as number }, {}],
    ['a number', { maxTurns: 7 }, { maxTurns: 7 }],
    ['zero', { maxTurns: 0 }, { maxTurns: 0 }],
    [
      'Infinity: no limit, not the default',
      { maxTurns: Number.POSITIVE_INFINITY },
      { maxTurns: null },
    ],
    ['dollars as micro-dollars', { maxCostUsd: 0.29 }, { maxCostMicros: 290_000 }],
    ['Infinity dollars', { maxCostUsd: Number.POSITIVE_INFINITY }, { maxCostMicros: null }],
    ['a part of a millisecond', { maxActiveMs: 1.5 }, { maxActiveMs: 1.5 }],
    ['a Date', { deadlineAt: new Date(5_000) }, { deadlineAt: 5_000 }],
    ['a time in milliseconds', { deadlineAt: 5_000 }, { deadlineAt: 5_000 }],
    ['the last time there is', { deadlineAt: 8.64e15 }, { deadlineAt: 8.64e15 }],
    ['no deadline', { deadlineAt: Number.POSITIVE_INFINITY }, { deadlineAt: null }],
  ])('reads %s', (_, budget, changed) => {
    expect(limitsOf(budget)).toEqual({
      ...unlimited,
      maxTurns: 50,
      maxRepeats: 3,
      maxMalformedReplies: 3,
      ...changed,
    });
  });

  it('survives JSON', () => {
    const everything = Object.fromEntries(fields.map((name) => [name, Number.POSITIVE_INFINITY]));
    const limits = limitsOf(everything);
    expect(JSON.parse(JSON.stringify(limits))).toEqual(limits);
    expect(Object.values(limits)).toEqual(fields.map(() => null));
  });
});

describe('namedLimits', () => {
  it('names nothing else, so that raising one limit leaves the others', () => {
    expect(namedLimits({ maxTurns: 9, maxCostUsd: 1 })).toEqual({
      maxTurns: 9,
      maxCostMicros: 1_000_000,
    });
    expect(namedLimits({})).toEqual({});
  });

  it.each<[string, unknown]>([
    ...fields.flatMap((name): [string, unknown][] =>
      [Number.NaN, -1, -0.1, Number.NEGATIVE_INFINITY, '5', null, true, [5], 5n].map((value) => [
        name,
        value,
      ]),
    ),
    ...integerFields.flatMap((name): [string, unknown][] =>
      [0.5, 1.5, 2 ** 53].map((value) => [name, value]),
    ),
    ['deadlineAt', new Date(Number.NaN)],
    ['deadlineAt', new Date(-1)],
    ['deadlineAt', 8.64e15 + 1],
    ['deadlineAt', '2030-01-01T00:00:00Z'],
    ['maxTurn', 5],
    ['maxCostMicros', 5],
    ['constructor', 5],
    ['__proto__', 5],
    ['', 5],
    ['unknown', undefined],
  ])('refuses %s of %s, and names the field', (name, value) => {
    const budget = Object.fromEntries([[name, value]]);
    const error = thrownBy(() => namedLimits(budget, 'limits'));
    expect(error).toBeInstanceOf(PawlError);
    expect(error).toMatchObject({ code: 'invalid_input' });
    expect((error as PawlError).message).toContain(`limits.${name}: expected `);
  });

  it('takes any whole number from 0 up, and gives it back', () => {
    fc.assert(
      fc.property(fc.constantFrom(...integerFields), fc.maxSafeNat(), (name, value) => {
        expect(namedLimits({ [name]: value })).toEqual({ [name]: value });
      }),
    );
  });
});

it.each<[LimitName, string]>([
  ['maxTurns', 'budget_exceeded'],
  ['maxInputTokens', 'budget_exceeded'],
  ['maxOutputTokens', 'budget_exceeded'],
  ['maxTotalTokens', 'budget_exceeded'],
  ['maxCostMicros', 'budget_exceeded'],
  ['maxToolCalls', 'budget_exceeded'],
  ['maxMalformedReplies', 'budget_exceeded'],
  ['maxActiveMs', 'run_timeout'],
  ['deadlineAt', 'run_timeout'],
  ['maxRepeats', 'loop_detected'],
  ['maxContinuations', 'output_truncated'],
  ['maxPauses', 'pauses_exceeded'],
  ['maxReplyTokens', 'output_truncated'],
  ['contextWindow', 'context_exceeded'],
])('the limit %s ends a run with %s', (name, code) => {
  expect(codeOfLimit(name)).toBe(code);
});

it.each<[LimitName, number, number, string]>([
  ['maxTurns', 10, 10, 'maxTurns was reached: 10 of 10 model calls were made.'],
  ['maxTurns', 11, 10, 'maxTurns was reached: 10 of 10 model calls were made.'],
  ['maxToolCalls', 5, 5, 'maxToolCalls was reached: 5 of 5 tool calls were made.'],
  ['maxActiveMs', 3, 1, 'maxActiveMs was reached: 3 of 1 ms were used.'],
  ['maxInputTokens', 9, 9, 'maxInputTokens was reached: 9 of 9 input tokens.'],
  ['maxOutputTokens', 9, 8, 'maxOutputTokens was reached: another call could come to 9 of 8 out'],
  ['maxTotalTokens', 9, 8, 'another call could come to 9 of 8 tokens.'],
  ['maxCostMicros', 500_000, 500_000, 'maxCostUsd was reached: $0.5 of $0.5.'],
  ['maxCostMicros', 761, 1, 'another call could come to $0.000761 of $0.000001.'],
  ['maxRepeats', 3, 3, 'maxRepeats was reached: 3 of 3 identical calls in a row.'],
  ['maxMalformedReplies', 3, 3, '3 of 3 malformed replies in a row.'],
  ['maxContinuations', 2, 2, '2 of 2 continuations of one reply.'],
  ['maxPauses', 5, 5, 'the model paused its turn again after 5 of 5 continuations.'],
  ['deadlineAt', 61_000, 60_000, '1970-01-01T00:01:00.000Z, and it was 1970-01-01T00:01:01.000Z.'],
  ['deadlineAt', Number.MAX_VALUE, 0, 'the deadline was 1970-01-01T00:00:00.000Z, and it was 1.79'],
  ['maxReplyTokens', 64, 64, '64 of 64 tokens in one reply.'],
  ['contextWindow', 9, 8, 'another call could come to 9 of 8 tokens in the context window.'],
])('the limit %s at %d of %d is described as people set it', (name, used, max, words) => {
  expect(describeLimit({ name, used, max })).toContain(words);
});
