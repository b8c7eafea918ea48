import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toWellFormed } from '../../src/core/well-formed.ts';

it.each([
  ['plain text', 'a\u0000b', 'a\u0000b'],
  ['a pair', '😀', '😀'],
  ['a lone high surrogate', 'before \ud83d after', 'before \ufffd after'],
  ['a lone low surrogate', '\ude00', '\ufffd'],
  ['a pair the wrong way round', '\ude00\ud83d', '\ufffd\ufffd'],
  ['a high surrogate before a pair', '\ud83d😀', '\ufffd😀'],
  ['no text', '', ''],
])('replaces only what is alone: %s', (_, text, expected) => {
  expect(toWellFormed(text)).toBe(expected);
});

it('does not overflow on megabytes of lone surrogates', () => {
  expect(toWellFormed('\ud800'.repeat(20_000_000)) === '\ufffd'.repeat(20_000_000)).toBe(true);
});

it('always gives text that UTF-8 can hold, of the same length', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(), (text, cut) => {
      const broken = text.slice(cut % (text.length + 1));
      const result = toWellFormed(broken);
      expect(() => encodeURIComponent(result)).not.toThrow();
      expect(result).toHaveLength(broken.length);
    }),
  );
});
