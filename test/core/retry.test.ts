import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultRetry, delayBeforeRetryMs, longestDelayMs } from '../../src/core/retry.ts';

const lowest = 0;
const highest = 1 - Number.EPSILON;

describe('delayBeforeRetryMs', () => {
  it.each([
    ['the first retry', 1, 250, 500],
    ['the second, twice as long', 2, 500, 1_000],
    ['the third', 3, 1_000, 2_000],
    ['the last below the ceiling', 6, 8_000, 16_000],
    ['the first at the ceiling', 7, 15_000, 30_000],
    ['one far beyond it', 5_000, 15_000, 30_000],
  ])('spreads the wait before %s over its upper half', (_, attempt, least, most) => {
    expect(delayBeforeRetryMs(defaultRetry, attempt, lowest)).toBe(least);
    expect(delayBeforeRetryMs(defaultRetry, attempt, highest)).toBe(most);
  });

  it.each([
    ['a wish of the server, over our own ceiling', 60_000, 60_000, 60_500],
    ['a wish of nothing', 0, 0, 0],
    ['a wish that lies in the past', -5_000, 0, 0],
    ['a short wish, with a tenth of jitter', 1_000, 1_000, 1_100],
    ['a wish at the cap', 120_000, 120_000, 120_500],
    ['a wish above the cap, cut', 120_001, 120_000, 120_500],
    ['an endless wish, cut', Number.POSITIVE_INFINITY, 120_000, 120_500],
  ])('honours %s', (_, retryAfterMs, least, most) => {
    expect(delayBeforeRetryMs(defaultRetry, 1, lowest, retryAfterMs)).toBe(least);
    expect(delayBeforeRetryMs(defaultRetry, 1, highest, retryAfterMs)).toBe(most);
  });

  it('stays within its bounds for any policy', () => {
    let capped = 0;
    let asked = 0;
    const policy = fc.record({
      maxRetries: fc.nat(10),
      baseMs: fc.nat(5_000),
      maxMs: fc.nat(60_000),
      maxRetryAfterMs: fc.nat(200_000),
    });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const wish = fc.option(fc.integer({ min: -10, max: 400_000 }));
    fc.assert(
      fc.property(
        policy,
        fc.integer({ min: 1, max: 2_000 }),
        random,
        wish,
        (rules, attempt, at, after) => {
          const delayMs = delayBeforeRetryMs(rules, attempt, at, after);
          const ceiling = Math.min(rules.maxMs, rules.baseMs * 2 ** Math.min(attempt - 1, 1_000));
          expect(Number.isSafeInteger(delayMs)).toBe(true);
          expect(delayMs).toBeLessThanOrEqual(longestDelayMs(rules));
          if (after === null) {
            if (ceiling === rules.maxMs) capped += 1;
            expect(delayMs).toBeGreaterThanOrEqual(Math.floor(ceiling / 2));
            expect(delayMs).toBeLessThanOrEqual(Math.ceil(ceiling));
          } else {
            asked += 1;
            const wanted = Math.min(Math.max(0, after), rules.maxRetryAfterMs);
            expect(delayMs).toBeGreaterThanOrEqual(wanted);
            expect(delayMs).toBeLessThanOrEqual(Math.ceil(wanted * 1.1) + 1);
          }
        },
      ),
      { numRuns: 1_000 },
    );
    expect(capped).toBeGreaterThan(100);
    expect(asked).toBeGreaterThan(100);
  });

  it('is the same for the same numbers', () => {
    expect(delayBeforeRetryMs(defaultRetry, 3, 0.5)).toBe(delayBeforeRetryMs(defaultRetry, 3, 0.5));
  });
});

describe('longestDelayMs', () => {
  it.each([
    ['a wish at the cap, with the jitter of a late attempt', {}, 132_000],
    ['our own ceiling', { maxMs: 200_000 }, 200_000],
    ['our own ceiling where no wish counts', { maxRetryAfterMs: 0 }, 30_000],
    ['nothing where nothing is waited', { maxMs: 0, maxRetryAfterMs: 0 }, 0],
  ])('is %s', (_, own, expected) => {
    expect(longestDelayMs({ ...defaultRetry, ...own })).toBe(expected);
  });
});
