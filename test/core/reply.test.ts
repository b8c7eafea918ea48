import { expect, it } from 'vitest';
import { addUsage, allInputTokens, noUsage, type Usage } from '../../src/core/reply.ts';

const usage: Usage = {
  inputTokens: 1,
  outputTokens: 20,
  cacheReadTokens: 300,
  cacheWriteTokens: 4_000,
  cacheWriteLongTokens: 1_000,
};

it('adds usage field by field', () => {
  expect(addUsage(usage, noUsage)).toEqual(usage);
  expect(addUsage(usage, { ...usage, outputTokens: 5 })).toEqual({
    inputTokens: 2,
    outputTokens: 25,
    cacheReadTokens: 600,
    cacheWriteTokens: 8_000,
    cacheWriteLongTokens: 2_000,
  });
});

it('counts each input token once: long cache writes are a part of all writes', () => {
  expect(allInputTokens(usage)).toBe(4_301);
  expect(allInputTokens(noUsage)).toBe(0);
});
