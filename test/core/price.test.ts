import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  costAtMostMicros,
  costMicros,
  microsOfUsd,
  type Price,
  type Rates,
  usdOfMicros,
} from '../../src/core/price.ts';
import { allInputTokens, noUsage, type Usage } from '../../src/core/reply.ts';

const plain: Price = { input: 2, output: 10 };
const tiered: Price = {
  input: 0.1,
  output: 0.5,
  cacheRead: 0.01,
  // Not in order on purpose.
  tiers: [
    { aboveInputTokens: 200_000, input: 1, output: 5 },
    { aboveInputTokens: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05 },
  ],
};

describe('costMicros', () => {
  it.each<[string, Price | null, Partial<Usage>, number]>([
    ['nothing', plain, {}, 0],
    ['an unknown price', null, { inputTokens: 1e9 }, 0],
    ['input and output', plain, { inputTokens: 1_000, outputTokens: 100 }, 3_000],
    ['a cache read without a rate, as input', plain, { cacheReadTokens: 1_000 }, 2_000],
    ['a cache write for minutes', plain, { cacheWriteTokens: 1_000 }, 2_500],
    [
      'a cache write for an hour',
      plain,
      { cacheWriteTokens: 1_000, cacheWriteLongTokens: 1_000 },
      4_000,
    ],
    [
      'both kinds of write',
      plain,
      { cacheWriteTokens: 1_000, cacheWriteLongTokens: 400 },
      1_500 + 1_600,
    ],
    [
      'rates of its own',
      { ...plain, cacheWriteLong: 3 },
      { cacheWriteTokens: 8, cacheWriteLongTokens: 8 },
      24,
    ],
    ['a part of a micro-dollar, rounded up', { input: 0.1, output: 0 }, { inputTokens: 1 }, 1],
    ['the last token of the first tier', tiered, { inputTokens: 100_000 }, 10_000],
    ['the first token of the second tier', tiered, { inputTokens: 100_001 }, 50_001],
    ['the last token of the second tier', tiered, { inputTokens: 200_000 }, 100_000],
    ['the first token of the third tier', tiered, { inputTokens: 200_001 }, 200_001],
    [
      'a tier that only cached input reaches',
      tiered,
      { cacheReadTokens: 100_001, outputTokens: 100 },
      Math.ceil(100_001 * 0.05 + 250),
    ],
  ])('of %s', (_, price, usage, expected) => {
    expect(costMicros(price, { ...noUsage, ...usage })).toBe(expected);
  });
});

describe('costAtMostMicros', () => {
  it.each<[string, Price | null, number, number, number]>([
    ['an unknown price', null, 1e9, 1e9, 0],
    ['nothing', plain, 0, 0, 0],
    ['input as the dearest cache write', plain, 1_000, 100, 5_000],
    ['a dear cache read', { input: 1, output: 0, cacheRead: 9 }, 10, 0, 90],
    ['a dearer tier once it can be reached', tiered, 100_001, 0, 100_001],
    ['no tier that can not be reached', tiered, 100_000, 0, 20_000],
    [
      'the first tier, where longer inputs are cheaper',
      { input: 5, output: 5, tiers: [{ aboveInputTokens: 10, input: 1, output: 1 }] },
      100,
      100,
      1_500,
    ],
  ])('takes %s', (_, price, input, output, expected) => {
    expect(costAtMostMicros(price, input, output)).toBe(expected);
  });

  const rate = fc.oneof(
    fc.constantFrom(0, 0.0004, 0.0125, 0.1, 1 / 3, 10),
    fc.double({ min: 0, max: 100, noNaN: true }),
  );
  const rates: fc.Arbitrary<Rates> = fc.record(
    { input: rate, output: rate, cacheRead: rate, cacheWrite: rate, cacheWriteLong: rate },
    { requiredKeys: ['input', 'output'] },
  );
  const price: fc.Arbitrary<Price> = fc
    .tuple(rates, fc.array(fc.tuple(rates, fc.nat(50_000)), { maxLength: 3 }))
    .map(([base, tiers]) => ({
      ...base,
      tiers: tiers.map(([tier, aboveInputTokens]) => ({ ...tier, aboveInputTokens })),
    }));
  const usage: fc.Arbitrary<Usage> = fc
    .tuple(fc.nat(40_000), fc.nat(40_000), fc.nat(40_000), fc.nat(40_000), fc.nat(100))
    .map(([inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, percent]) => ({
      inputTokens,
      outputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      cacheWriteLongTokens: Math.floor((cacheWriteTokens * percent) / 100),
    }));

  it('is never below what a usage within the bound really costs', () => {
    let tight = 0;
    let inLowerTier = 0;
    fc.assert(
      fc.property(
        price,
        usage,
        fc.nat(20_000),
        fc.nat(20_000),
        (anyPrice, used, moreIn, moreOut) => {
          const input = allInputTokens(used);
          const bound = costAtMostMicros(anyPrice, input + moreIn, used.outputTokens + moreOut);
          const actual = costMicros(anyPrice, used);
          if (
            anyPrice.tiers?.some(
              (tier) => input <= tier.aboveInputTokens && tier.aboveInputTokens < input + moreIn,
            )
          ) {
            inLowerTier += 1;
          }
          if (actual > bound * 0.5) tight += 1;
          expect(actual).toBeLessThanOrEqual(bound);
        },
      ),
      { numRuns: 2_000 },
    );
    expect(tight).toBeGreaterThan(50);
    expect(inLowerTier).toBeGreaterThan(50);
  });

  it('never falls when a bound grows', () => {
    fc.assert(
      fc.property(
        price,
        fc.nat(60_000),
        fc.nat(60_000),
        fc.nat(60_000),
        (anyPrice, input, output, more) => {
          const cost = costAtMostMicros(anyPrice, input, output);
          expect(costAtMostMicros(anyPrice, input + more, output)).toBeGreaterThanOrEqual(cost);
          expect(costAtMostMicros(anyPrice, input, output + more)).toBeGreaterThanOrEqual(cost);
        },
      ),
      { numRuns: 500 },
    );
  });
});

it.each([
  [0, 0],
  [0.29, 290_000],
  [0.1 + 0.2, 300_000],
  [0.0000004, 0],
  [50, 50_000_000],
])('%f US dollars are %i micro-dollars', (usd, micros) => {
  expect(microsOfUsd(usd)).toBe(micros);
  expect(microsOfUsd(usdOfMicros(micros))).toBe(micros);
});
