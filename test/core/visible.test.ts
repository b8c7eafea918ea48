import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeVisible, showArguments } from '../../src/core/visible.ts';

// Written a second time, as code points, so that the tests do not share the idea of the code.
const forbidden: readonly (readonly [number, number])[] = [
  [0x00, 0x1f],
  [0x7f, 0xa0],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x1680, 0x1680],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x205f, 0x206f],
  [0x2800, 0x2800],
  [0x3000, 0x3000],
  [0x3164, 0x3164],
  [0xd800, 0xf8ff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xfffe, 0xffff],
  [0x1d173, 0x1d17a],
  [0xe0000, 0x10ffff],
];

function findForbidden(text: string, allowed = ''): string[] {
  return [...text].filter((character) => {
    const code = character.codePointAt(0) ?? 0;
    return (
      !allowed.includes(character) && forbidden.some(([from, to]) => code >= from && code <= to)
    );
  });
}

/** Takes back what makeVisible did. */
function makeInvisible(text: string): string {
  const letters = new Map([
    ['\\\\', '\\'],
    ['\\n', '\n'],
    ['\\t', '\t'],
    ['\\r', '\r'],
  ]);
  return text.replace(/\\(?:[\\ntr]|u\{([0-9a-f]+)(?:×(\d+))?\})/g, (shown, hex, times) =>
    hex === undefined
      ? (letters.get(shown) ?? '')
      : String.fromCodePoint(Number.parseInt(hex, 16)).repeat(Number(times ?? 1)),
  );
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(' ', '\\', '\n', '\t', '×', '9', 'u{20', '}', '\ud800', '\u202e'),
  }),
  fc.tuple(fc.string(), fc.nat(30), fc.string()).map(([a, n, b]) => a + ' '.repeat(n) + b),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
);

describe('makeVisible', () => {
  it.each([
    ['plain text', 'rm -rf "/tmp/x"', 'rm -rf "/tmp/x"'],
    ['letters of any script', 'Grüße שלום 你好 é', 'Grüße שלום 你好 é'],
    ['an emoji', '😀', '😀'],
    ['a backslash', 'C:\\u{1b}', 'C:\\\\u{1b}'],
    ['a terminal escape', '\u001b[2J', '\\u{1b}[2J'],
    ['an 8-bit terminal escape', '\u009b2J', '\\u{9b}2J'],
    ['line ends and tabs', 'a\r\n\tb', 'a\\r\\n\\tb'],
    ['NUL and DEL', '\u0000\u007f', '\\u{0}\\u{7f}'],
    ['a direction override', 'a\u202eb', 'a\\u{202e}b'],
    ['an isolate', '\u2066a\u2069', '\\u{2066}a\\u{2069}'],
    [
      'zero-width characters',
      'a\u200b\u200d\u2060\ufeffb',
      'a\\u{200b}\\u{200d}\\u{2060}\\u{feff}b',
    ],
    ['fillers', '\u115f\u3164\uffa0\u2800', '\\u{115f}\\u{3164}\\u{ffa0}\\u{2800}'],
    ['variation selectors', '❤\ufe0f\u{e0100}', '❤\\u{fe0f}\\u{e0100}'],
    ['tags', '\u{e0001}\u{e0041}', '\\u{e0001}\\u{e0041}'],
    ['line and paragraph separators', '\u2028\u2029', '\\u{2028}\\u{2029}'],
    ['other spaces', 'a\u00a0b\u3000c', 'a\\u{a0}b\\u{3000}c'],
    ['private use', '\ue000\u{f0000}', '\\u{e000}\\u{f0000}'],
    ['unassigned', '\u0378\uffff', '\\u{378}\\u{ffff}'],
    ['lone surrogates', '\ud83d \ude00', '\\u{d83d} \\u{de00}'],
    ['eight spaces', `a${' '.repeat(8)}b`, `a${' '.repeat(8)}b`],
    ['nine spaces', `a${' '.repeat(9)}5`, 'a\\u{20×9}5'],
    ['padding', `ls${' '.repeat(5_000)}; rm`, 'ls\\u{20×5000}; rm'],
    ['many line feeds', '\n'.repeat(40), '\\u{a×40}'],
    ['many zero-width spaces', '\u200b'.repeat(5_000), '\\u{200b×5000}'],
    ['many tags', '\u{e0020}'.repeat(9), '\\u{e0020×9}'],
    ['many backslashes', '\\'.repeat(9), '\\'.repeat(18)],
  ])('shows %s', (_, text, expected) => {
    expect(makeVisible(text)).toBe(expected);
  });

  it.each([' ', '\u200b', '\u{e0020}', '\ud800'])(
    'does not overflow on megabytes of %j',
    (character) => {
      const shown = makeVisible(character.repeat(20_000_000));
      expect(shown).toMatch(/^(?:\\u\{[0-9a-f]+×5000\}){4000}$/);
    },
  );

  it.each([
    ['line feeds and tabs stay', 'a\n\tb', 'a\n\tb'],
    ['a carriage return does not', 'real\rfake', 'real\\rfake'],
    ['padding by line feeds does not', `a${'\n'.repeat(9)}b`, 'a\\u{a×9}b'],
    ['other controls do not', '\u000b\u001b', '\\u{b}\\u{1b}'],
  ])('over several lines, %s', (_, text, expected) => {
    expect(makeVisible(text, { multiline: true })).toBe(expected);
  });

  it('leaves no hidden character of any kind', () => {
    for (const [from, to] of forbidden) {
      for (let code = from; code <= Math.min(to, from + 0x1000); code++) {
        const shown = makeVisible(String.fromCodePoint(code));
        expect(shown).toMatch(/^\\(?:u\{[0-9a-f]+\}|[ntr])$/);
      }
    }
    fc.assert(
      fc.property(anyText, (text) => {
        expect(findForbidden(makeVisible(text))).toEqual([]);
      }),
    );
  });

  it('can be taken back, so two texts never look the same', () => {
    fc.assert(
      fc.property(anyText, fc.boolean(), (text, multiline) => {
        expect(makeInvisible(makeVisible(text, { multiline }))).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('showArguments', () => {
  it('lays out JSON with what is hidden made visible', () => {
    const input = JSON.parse(
      '{"command":"echo \\"hi\\"\\n\\u001b[2J","pa\\u202eth":"C:\\\\x","list":[1,true,null,[],{}],"__proto__":{"a":-1.5}}',
    );
    expect(showArguments(input)).toBe(
      [
        '{',
        '  "command": "echo \\"hi\\"\\n\\u{1b}[2J",',
        '  "pa\\u{202e}th": "C:\\\\x",',
        '  "list": [',
        '    1,',
        '    true,',
        '    null,',
        '    [],',
        '    {}',
        '  ],',
        '  "__proto__": {',
        '    "a": -1.5',
        '  }',
        '}',
      ].join('\n'),
    );
  });

  it.each<[string, unknown, string]>([
    ['undefined', undefined, '‹undefined›'],
    ['a date', new Date(0), '‹1970-01-01T00:00:00.000Z›'],
    ['a number that JSON cannot hold', [Number.NaN], '[\n  ‹NaN›\n]'],
    ['text that looks like a note', '‹undefined›', '"‹undefined›"'],
    ['a lone surrogate', '\ud800', '"\\u{d800}"'],
  ])('tells %s from JSON', (_, input, expected) => {
    expect(showArguments(input)).toBe(expected);
  });

  it('shows a key that ends in a quote as one key', () => {
    expect(showArguments({ 'a": 1, "b': 2 })).toBe('{\n  "a\\": 1, \\"b": 2\n}');
  });

  it('cuts what is too deep, too wide or too long, and says so', () => {
    const cycle = {};
    Object.assign(cycle, { self: cycle });
    const long = 'a'.repeat(1_000_000);
    expect(showArguments(cycle)).toContain('‹too deep to show›');
    expect(showArguments(new Array(150_000).fill(0))).toContain('‹50001 more not shown›');
    expect(showArguments(new Array(10_000).fill(long))).toContain('‹1000000 characters not shown›');
  });

  it('shows a million characters whole', () => {
    expect(showArguments('a'.repeat(1_000_000))).toHaveLength(1_000_002);
  });

  it('shows something for a value that cannot be read', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(showArguments(proxy)).toMatch(/^‹.+›$/);
  });

  it('never holds a hidden character but the line feeds of its layout', () => {
    fc.assert(
      fc.property(fc.anything({ key: anyText, values: [anyText, fc.double()] }), (input) => {
        expect(findForbidden(showArguments(input), '\n')).toEqual([]);
      }),
    );
  });
});
