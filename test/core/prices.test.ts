import { describe, expect, it } from 'vitest';
import { costMicros } from '../../src/core/price.ts';
import { knownModel } from '../../src/core/prices.ts';
import { noUsage } from '../../src/core/reply.ts';

describe('knownModel', () => {
  it.each([
    ['claude-fable-5', 10, 50, 1, 12.5, 1_000_000, 128_000],
    ['claude-fable-5-1', 10, 50, 0.25, 12.5, 1_000_000, 128_000],
    ['claude-fable-5-2', 8, 40, 0.2, 10, 1_000_000, 128_000],
    ['claude-opus-5-5', 4, 20, 0.2, 5, 1_000_000, 128_000],
    ['claude-opus-5', 5, 25, 0.5, 6.25, 1_000_000, 128_000],
    ['claude-opus-4-8', 5, 25, 0.5, 6.25, 1_000_000, 128_000],
    ['claude-opus-4-7', 5, 25, 0.5, 6.25, 1_000_000, 128_000],
    ['claude-opus-4-6', 5, 25, 0.5, 6.25, 1_000_000, 128_000],
    ['claude-opus-4-5', 5, 25, 0.5, 6.25, 200_000, 64_000],
    ['claude-sonnet-5-5', 2, 10, 0.1, 2.5, 1_000_000, 128_000],
    ['claude-sonnet-5', 2, 10, 0.2, 2.5, 1_000_000, 128_000],
    ['claude-sonnet-4-6', 3, 15, 0.3, 3.75, 1_000_000, 128_000],
    ['claude-sonnet-4-5', 3, 15, 0.3, 3.75, 200_000, 64_000],
    ['claude-haiku-5-5', 0.1, 0.5, 0.01, 0.125, 1_000_000, 128_000],
    ['claude-haiku-4-5', 1, 5, 0.1, 1.25, 200_000, 64_000],
  ])('%s has its price and its limits', (id, input, output, read, write, window, cap) => {
    const known = knownModel(id);
    expect(known?.price).toMatchObject({ input, output, cacheRead: read, cacheWrite: write });
    expect(known?.price.cacheWriteLong).toBe(input * 2);
    expect([known?.contextWindow, known?.maxOutputTokens]).toEqual([window, cap]);
  });

  it.each([
    ['claude-haiku-4-5-20251001', 'claude-haiku-4-5'],
    ['claude-opus-5-20260101', 'claude-opus-5'],
  ])('%s is the dated %s', (dated, base) => {
    expect(knownModel(dated)).toBe(knownModel(base));
  });

  it.each([
    '',
    'claude',
    'claude-opus-5-6',
    'claude-haiku-4-5-2025100',
    'claude-haiku-4-5-202510011',
    'claude-haiku-4-5-2025100a',
    'claude-haiku-4-5-20251001-20251001',
    '-20251001',
    'anthropic/claude-opus-5',
    'Claude-Opus-5',
    '__proto__',
    'constructor',
    'toString',
  ])('%j is not known', (id) => {
    expect(knownModel(id)).toBeNull();
  });

  it('claude-haiku-5-5 costs more above 100,000 input tokens', () => {
    const price = knownModel('claude-haiku-5-5')?.price ?? null;
    expect(costMicros(price, { ...noUsage, inputTokens: 100_000 })).toBe(10_000);
    expect(costMicros(price, { ...noUsage, inputTokens: 100_001 })).toBe(50_001);
  });
});
