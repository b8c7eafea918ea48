import fc from 'fast-check';
import { expect, it } from 'vitest';
import { utf8Length } from '../../src/core/utf8.ts';

it.each([
  ['nothing', '', 0],
  ['ASCII, also its last character', 'a\u007f', 2],
  ['the first of two bytes', '\u0080', 2],
  ['the last of two bytes', '\u07ff', 2],
  ['the first of three bytes', '\u0800', 3],
  ['the last of three bytes', '\uffff', 3],
  ['a pair', '😀', 4],
  ['a lone high surrogate', '\ud83d', 3],
  ['a lone high surrogate before text', '\ud83da', 4],
  ['a lone low surrogate', '\ude00', 3],
  ['a pair the wrong way round', '\ude00\ud83d', 6],
  ['a high surrogate before a pair', '\ud83d😀', 7],
])('counts the bytes of %s', (_, value, bytes) => {
  expect(utf8Length(value)).toBe(bytes);
});

it('agrees with the platform for any string, lone surrogates included', () => {
  let lone = 0;
  // Code units, not code points: so that surrogates come alone and in the wrong order.
  const unit = fc.oneof(fc.nat(0xffff), fc.integer({ min: 0xd7ff, max: 0xe000 }));
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 40 }), (units) => {
      const value = String.fromCharCode(...units);
      if (/\p{Surrogate}/u.test(value)) lone += 1;
      expect(utf8Length(value)).toBe(Buffer.byteLength(value));
    }),
    { numRuns: 1_000 },
  );
  expect(lone).toBeGreaterThan(100);
});

it('counts megabytes in one pass', () => {
  expect(utf8Length('€'.repeat(5_000_000))).toBe(15_000_000);
});
