import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonLine, safeJson } from '../../src/cli/json-line.ts';
import {
  cutForDisplay,
  formatMs,
  formatUsd,
  showLine,
  showProse,
  showResult,
  showValue,
} from '../../src/cli/show-text.ts';

const hostile = fc.string({
  unit: fc.constantFrom(
    ...['a', ' ', '\n', '\r', '\t', '\0', '\\', '"', '\u001b', '\u009b', '\u007f', '\u202e'],
    ...['\u2028', '\u200b', '\u{e0041}', '\ud83d', '\ude00', '😀', '\u001b]8;;http://x\u0007'],
  ),
  maxLength: 60,
});
// Everything that steers a terminal or hides, but for the line feed and the tab.
const unsafe = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\u2028\u2029]/u;

describe('foreign text', () => {
  it('holds nothing that steers a terminal once it is shown', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(showProse(text)).not.toMatch(unsafe);
        expect(showLine(text)).not.toMatch(unsafe);
        expect(showLine(text)).not.toContain('\n');
        expect(showValue({ [text]: [text] })).not.toMatch(unsafe);
        expect(showResult({ type: 'tool_result', tool_use_id: 'x', content: text })).not.toMatch(
          unsafe,
        );
      }),
    );
  });

  it('keeps backslashes, lines and tabs of prose as they are', () => {
    expect(showProse('C:\\temp\n\tconst a = "\\n";')).toBe('C:\\temp\n\tconst a = "\\n";');
  });

  it('names the blocks of a result that are not text', () => {
    const content = [
      { type: 'text', text: 'a picture' },
      { type: 'image', source: {} },
    ] as const;
    expect(showResult({ type: 'tool_result', tool_use_id: 'x', content })).toBe(
      'a picture\n[image]',
    );
  });
});

describe('a text that is cut for display', () => {
  it.each([
    ['fits', 'ab', 'ab'],
    ['is too long', 'abcdefgh', 'abcde… (3 more characters)'],
    ['has too many lines', 'a\nb\nc', 'a\nb… (2 more characters)'],
    ['has as many lines as fit', 'a\nb', 'a\nb'],
    ['would be cut inside of a pair', 'abcd😀x', 'abcd… (3 more characters)'],
    ['is empty', '', ''],
  ])('%s', (_name, text, shown) => {
    expect(cutForDisplay(text, { maxChars: 5, maxLines: 2 })).toBe(shown);
  });

  it('costs no more than its shown part', () => {
    expect(showValue('x'.repeat(5_000_000))).toMatch(/^x{300}… \(4,999,700 more characters\)$/);
  });
});

describe('amounts', () => {
  it.each([
    [0, '$0.0000'],
    [0.00001, 'less than $0.0001'],
    [0.00584, '$0.0058'],
    [12.345, '$12.35'],
  ])('%f dollars are %s', (usd, shown) => {
    expect(formatUsd(usd)).toBe(shown);
  });

  it.each([
    [41.4, '41 ms'],
    [1_250, '1.3 s'],
    [90_000, '1.5 min'],
  ])('%f ms are %s', (ms, shown) => {
    expect(formatMs(ms)).toBe(shown);
  });
});

describe('a line of JSON', () => {
  it('is one harmless line that parses to the same value', () => {
    fc.assert(
      fc.property(fc.dictionary(hostile, hostile), (value) => {
        const line = jsonLine(value);
        expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('bears what JSON.stringify does not', () => {
    let deep: unknown = 'end';
    for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
    expect(jsonLine({ deep })).toHaveLength('{"deep":"end"}\n'.length + 40_000);
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(safeJson(cyclic)).toContain('Circular');
    expect(safeJson({ count: 10n })).toContain('10');
    expect(safeJson(undefined)).toBe('null');
  });
});
