import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, isJsonObject, type Json, parseJson } from '../../src/core/json.ts';

const anyJson = fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 }) as fc.Arbitrary<Json>;

function parse(text: string): Json {
  const parsed = parseJson(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.value;
}

/** The same value with the keys of every object in reverse order. */
function reverseKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(reverseKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, field]) => [key, reverseKeys(field)]));
}

describe('canonicalJson', () => {
  it.each([
    ['null', 'null'],
    ['-0.0', '0'],
    ['1e21', '1e+21'],
    [' [ ] ', '[]'],
    ['[[],{},[1,2]]', '[[],{},[1,2]]'],
    ['{"b":1,"a":{"d":[{"z":1,"y":2}],"c":null}}', '{"a":{"c":null,"d":[{"y":2,"z":1}]},"b":1}'],
    ['{"10":1,"9":2,"a":3,"B":4}', '{"10":1,"9":2,"B":4,"a":3}'],
    ['{"\\uffff":1,"\\ud83d\\ude00":2}', '{"😀":2,"\uffff":1}'],
    ['{"constructor":1,"__proto__":{"x":1}}', '{"__proto__":{"x":1},"constructor":1}'],
    ['"\\ud800"', '"\\ud800"'],
    ['{"\\ud801":1,"\\ud800":2}', '{"\\ud800":2,"\\ud801":1}'],
    ['{"a":1,"a":2}', '{"a":2}'],
  ])('writes %s in one way only', (text, expected) => {
    expect(canonicalJson(parse(text))).toBe(expected);
  });

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalJson(reverseKeys(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it('means the same value, and is its own canonical form', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(parse(text))).toBe(text);
      }),
    );
  });

  it('keeps texts with different lone surrogates apart', () => {
    expect(canonicalJson('rm \ud800')).not.toBe(canonicalJson('rm \ud801'));
  });

  it.each([
    ['lists', '[', ']', '0'],
    ['objects', '{"a":', '}', '0'],
  ])('writes %s that are 100,000 levels deep', (_, open, close, leaf) => {
    const text = open.repeat(100_000) + leaf + close.repeat(100_000);
    expect(canonicalJson(parse(text))).toBe(text);
  });

  it('writes a list of a million items', () => {
    expect(canonicalJson(Array.from({ length: 1_000_000 }, () => 1))).toHaveLength(2_000_001);
  });

  it('writes a value that occurs twice, since that is no cycle', () => {
    const shared = [1];
    expect(canonicalJson({ a: shared, b: [shared, shared] })).toBe('{"a":[1],"b":[[1],[1]]}');
  });

  it('leaves out fields that are undefined', () => {
    expect(canonicalJson({ a: undefined, b: 1 } as unknown as Json)).toBe('{"b":1}');
  });

  const cycle: unknown[] = [];
  cycle.push({ cycle });
  it.each<[string, unknown, RegExp]>([
    ['NaN', [Number.NaN], /NaN/],
    ['Infinity', { a: Infinity }, /Infinity/],
    ['a big integer', 1n, /bigint/],
    ['a function', { a: () => 1 }, /function/],
    ['undefined', undefined, /undefined/],
    ['a hole', new Array(2), /undefined/],
    ['a cycle', cycle, /holds itself/],
  ])('refuses %s', (_, value, reason) => {
    const write = () => canonicalJson(value as Json);
    expect(write).toThrow(TypeError);
    expect(write).toThrow(reason);
  });
});

describe('parseJson', () => {
  it.each([
    ['{"a":[1,"x",null,true]}', { a: [1, 'x', null, true] }],
    ['"\\ud800"', '\ud800'],
    ['  1.5 ', 1.5],
    ['false', false],
    ['null', null],
  ])('reads %s', (text, value) => {
    expect(parseJson(text)).toEqual({ ok: true, value });
  });

  it.each([
    [''],
    ['{'],
    ['{"a":1,}'],
    ['undefined'],
    ['NaN'],
    ["{'a':1}"],
    ['1 2'],
    ['\ufeff{}'],
    ['"\u0001"'],
    ['[1e400]'],
    ['{"a":{"b":-1e999}}'],
    [`${'9'.repeat(400)}`],
    ['[\ud800]'],
  ])('gives a well-formed reason for refusing %j', (text) => {
    const parsed = parseJson(text);
    expect(parsed).toEqual({ ok: false, reason: expect.stringMatching(/^.*\S/) });
    expect(() => encodeURIComponent(JSON.stringify(parsed))).not.toThrow();
    expect(parsed.ok || parsed.reason).not.toMatch(/[\ud800-\udfff]/u);
  });

  it('keeps a key named __proto__ as an own key and changes no prototype', () => {
    const value = parse('{"__proto__":{"polluted":1}}');
    expect(Object.keys(value ?? {})).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });

  it('gives an answer for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), (text) => {
        expect(typeof parseJson(text).ok).toBe('boolean');
      }),
    );
  });

  it('does not overflow on an unclosed text of a million levels', () => {
    expect(parseJson('['.repeat(1_000_000)).ok).toBe(false);
  });
});

it.each<[string, unknown, boolean]>([
  ['an object', {}, true],
  ['an object without a prototype', Object.create(null), true],
  ['parsed __proto__', JSON.parse('{"__proto__":1}'), true],
  ['a list', [], false],
  ['null', null, false],
  ['text', 'a', false],
  ['undefined', undefined, false],
  ['a function', () => 1, false],
  ['a date', new Date(0), false],
  ['a map', new Map(), false],
])('isJsonObject knows %s', (_, value, expected) => {
  expect(isJsonObject(value)).toBe(expected);
});
