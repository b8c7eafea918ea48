import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitOutput } from '../../src/core/output-limit.ts';
import { toWellFormed } from '../../src/core/well-formed.ts';

it.each([
  ['text that fits', 'a'.repeat(100), 100, 'a'.repeat(100)],
  ['no text', '', 0, ''],
  ['any text without a limit', 'abc', Infinity, 'abc'],
  ['a head below the minimum', 'a'.repeat(100), 99, 'a'.repeat(99)],
  ['a head that ends before a pair', '😀😀', 3, '😀'],
  ['nothing for a limit of 0', 'abc', 0, ''],
  ['nothing for a negative limit', 'abc', -1, ''],
  ['nothing for a limit that is no number', 'abc', Number.NaN, ''],
  ['whole characters for a fraction', 'abc', 1.5, 'a'],
])('keeps %s', (_, text, maxChars, expected) => {
  expect(limitOutput(text, maxChars)).toBe(expected);
});

it('keeps two thirds of head, one third of tail, and says what is missing between them', () => {
  const text = 'h'.repeat(5_000) + 't'.repeat(5_000);
  const result = limitOutput(text, 1_030);
  expect(result).toBe(`${'h'.repeat(666)}\n[… 9002 characters omitted …]\n${'t'.repeat(332)}`);
});

describe('for any text and limit', () => {
  const anyText = fc.string({
    unit: fc.constantFrom('a', '😀', '\n'),
    minLength: 80,
    maxLength: 400,
  });

  it('never gives more than the limit, nor splits a pair', () => {
    fc.assert(
      fc.property(anyText, fc.nat(500), (text, maxChars) => {
        const result = limitOutput(text, maxChars);
        expect(result.length).toBeLessThanOrEqual(maxChars);
        expect(toWellFormed(result)).toBe(result);
        expect(limitOutput(result, maxChars)).toBe(result);
      }),
    );
  });

  it('counts exactly what it left out', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 100, max: 500 }), (text, maxChars) => {
        const result = limitOutput(text, maxChars);
        const [note, omitted] = /\n\[… (\d+) characters omitted …\]\n/.exec(result) ?? ['', '0'];
        expect(result.length - note.length + Number(omitted)).toBe(text.length);
        const [head = '', tail = ''] = note === '' ? [result] : result.split(note);
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
      }),
    );
  });
});
