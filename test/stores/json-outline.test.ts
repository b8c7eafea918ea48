import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { outlineOf, withValues } from '../../src/stores/json-outline.ts';

const parse = (text: string): JsonObject => JSON.parse(text);

describe('outlineOf', () => {
  it.each([
    ['values are taken out', '{"a":1,"b":"x"}', '{"a":0,"b":0}', [1, 'x']],
    ['objects keep their shape', '{"a":{"b":true}}', '{"a":{"b":0}}', [true]],
    ['a list is one value', '{"a":[1,{"b":2}]}', '{"a":0}', [[1, { b: 2 }]]],
    ['a type is part of the shape', '{"type":"done","n":1}', '{"type":"done","n":0}', [1]],
    ['another thing named type is not', '{"type":0}', '{"type":0}', [0]],
    ['hostile names', '{"__proto__":{"x":1}}', '{"__proto__":{"x":0}}', [1]],
  ])('%s', (_, object, shape, values) => {
    expect(outlineOf(parse(object))).toEqual({ shape, values });
  });

  it('gives any object back', () => {
    const key = fc.oneof(fc.string(), fc.constantFrom('type', '__proto__', 'constructor'));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 9 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
        fc.array(tie('value'), { maxLength: 3 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(key, value), (any) => {
        const object = parse(JSON.stringify(any));
        expect(JSON.stringify(withValues(outlineOf(object)))).toBe(JSON.stringify(object));
      }),
      { numRuns: 500 },
    );
  });
});
