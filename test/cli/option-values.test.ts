import { describe, expect, it } from 'vitest';
import { readCount, readDurationMs, readUsd } from '../../src/cli/option-values.ts';

const wrong = ['', ' ', 'x', '-1', '1e3', '0x10', 'NaN', 'Infinity', '1 2', '٣'];

describe('a duration', () => {
  it.each([
    ['1500', 1_500],
    ['1500ms', 1_500],
    ['90s', 90_000],
    ['5m', 300_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['0', 0],
    [' 1s ', 1_000],
  ])('%j is %i ms', (text, ms) => {
    expect(readDurationMs(text)).toBe(ms);
  });

  it.each([...wrong, '5 m', 's', '5w', '1.s', '99999999999999999h'])('%j is none', (text) => {
    expect(readDurationMs(text)).toBeNull();
  });
});

describe('a count', () => {
  it.each([
    ['0', 0],
    ['12', 12],
    ['10_000', 10_000],
    ['1,000,000', 1_000_000],
  ])('%j is %i', (text, count) => {
    expect(readCount(text)).toBe(count);
  });

  it.each([...wrong, '1.5', '1_00', '9007199254740993'])('%j is none', (text) => {
    expect(readCount(text)).toBeNull();
  });
});

describe('an amount of money', () => {
  it.each([
    ['0.5', 0.5],
    ['.5', 0.5],
    ['$2', 2],
    ['2', 2],
  ])('%j is %f dollars', (text, usd) => {
    expect(readUsd(text)).toBe(usd);
  });

  it.each([...wrong, '1,5', '€2', '1.', '99999999999'])('%j is none', (text) => {
    expect(readUsd(text)).toBeNull();
  });
});
