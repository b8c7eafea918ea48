import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { applyDifference, difference } from '../../src/stores/json-difference.ts';

const parse = (text: string): JsonObject => JSON.parse(text);

describe('difference', () => {
  it.each([
    ['nothing changed', '{"a":{"b":1}}', '{"a":{"b":1}}', '{}'],
    ['a field changed', '{"a":1,"b":2}', '{"a":1,"b":3}', '{"=":{"b":3}}'],
    ['a field is gone', '{"a":1,"b":2}', '{"a":1}', '{"-":["b"]}'],
    ['a field within', '{"a":{"b":1,"c":2}}', '{"a":{"b":1,"c":3}}', '{">":{"a":{"=":{"c":3}}}}'],
    ['a list is one value', '{"a":[1,2]}', '{"a":[1,3]}', '{"=":{"a":[1,3]}}'],
    ['hostile names', '{}', '{"__proto__":{"x":1}}', '{"=":{"__proto__":{"x":1}}}'],
  ])('%s', (_, from, to, expected) => {
    expect(JSON.stringify(difference(parse(from), parse(to)))).toBe(expected);
  });

  it('gives the second of any two objects back, from the first', () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 6 }));
    const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', '=', '-', '>');
    const similar = fc.dictionary(key, fc.dictionary(key, fc.jsonValue()));
    fc.assert(
      fc.property(fc.oneof(objects, similar), fc.oneof(objects, similar), (one, other) => {
        const [from, to] = [parse(JSON.stringify(one)), parse(JSON.stringify(other))];
        const change = parse(JSON.stringify(difference(from, to)));
        expect(applyDifference(from, change)).toEqual(to);
      }),
    );
  });
});
