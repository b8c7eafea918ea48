import fc from 'fast-check';
import { expect, it } from 'vitest';
import { matchesPattern } from '../../src/core/glob.ts';

it.each([
  ['read_file', 'read_file', true],
  ['read_file', 'read_files', false],
  ['read_file', 'Read_File', false],
  ['*', '', true],
  ['*', 'anything', true],
  ['', '', true],
  ['', 'a', false],
  ['read_*', 'read_file', true],
  ['read_*', 'read_', true],
  ['read_*', 'unread_file', false],
  ['*_file', 'read_file', true],
  ['*_file', 'read_file_now', false],
  ['git.*.push', 'git.origin.push', true],
  ['git.*.push', 'git.push', false],
  ['**', 'a', true],
  ['a*b*c', 'a1b2b3c', true],
  ['a*b*c', 'a1c2b', false],
  ['a*a', 'a', false],
  ['*ab', 'aab', true],
  ['a.c', 'abc', false],
  ['a?c', 'abc', false],
  ['[ab]', 'a', false],
  ['a\\*', 'a\\x', true],
  ['*', '*', true],
  ['*', 'line\nline', true],
  ['__proto__', '__proto__', true],
])('pattern %j on name %j: %s', (pattern, name, expected) => {
  expect(matchesPattern(pattern, name)).toBe(expected);
});

it('agrees with a regular expression made from the pattern', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.'), maxLength: 8 });
  fc.assert(
    fc.property(text, text, (pattern, name) => {
      const source = pattern.replaceAll('.', '\\.').replaceAll('*', '.*');
      expect(matchesPattern(pattern, name)).toBe(new RegExp(`^${source}$`, 's').test(name));
    }),
    { numRuns: 2_000 },
  );
});

it('ends on a pattern that would make a backtracking matcher run for ages', () => {
  expect(matchesPattern(`${'*a'.repeat(1_000)}b`, 'a'.repeat(10_000))).toBe(false);
});
