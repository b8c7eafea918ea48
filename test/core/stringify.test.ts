import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeThrown, stringifyToolOutput } from '../../src/core/stringify.ts';

class Point {
  x = 42;
  #secret = 1;
  get sum() {
    return this.x + this.#secret;
  }
}
class Empty {}

function makeCycle(): unknown {
  const cycle: Record<string, unknown> = { a: 1 };
  return Object.assign(cycle, { self: cycle });
}

function makeRevokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function nest(depth: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < depth; level++) value = { inner: value };
  return value;
}

function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}

const shared = { a: 1 };
const sparse = [1];
sparse[3] = 4;
const withGetter = Object.defineProperty({ ok: 1 }, 'bad', {
  enumerable: true,
  get: throwing(new Error('no such row')),
});
const throwsItself = Object.defineProperty({}, 'bad', {
  enumerable: true,
  get: () => {
    throw throwsItself;
  },
});

describe('stringifyToolOutput', () => {
  it.each<[string, unknown, string]>([
    ['a string', 'plain "value"', 'plain "value"'],
    ['an empty string', '', ''],
    ['undefined', undefined, ''],
    ['null', null, ''],
    ['a number', 1.5, '1.5'],
    ['false', false, 'false'],
    ['an empty list', [], '[]'],
    ['an empty object', {}, '{}'],
    ['plain JSON', { a: [1, 'x', null, { b: true }] }, '{"a":[1,"x",null,{"b":true}]}'],
    ['undefined fields and items', { a: undefined, b: [undefined] }, '{"b":[null]}'],
    ['a big integer', { n: 9007199254740993n }, '{"n":"9007199254740993"}'],
    ['a bare big integer', -5n, '-5'],
    ['a huge big integer', 1n << 100_000n, '[BigInt of more than 65,536 bits]'],
    ['NaN and infinities', [Number.NaN, Infinity, -Infinity], '["NaN","Infinity","-Infinity"]'],
    ['a symbol', { s: Symbol('x') }, '{"s":"Symbol(x)"}'],
    ['a function', { f: function go() {} }, '{"f":"[Function go]"}'],
    ['an anonymous function', [() => 1], '["[Function (anonymous)]"]'],
    ['a date', new Date('2024-01-02T03:04:05Z'), '2024-01-02T03:04:05.000Z'],
    ['an invalid date', { at: new Date(Number.NaN) }, '{"at":"Invalid Date"}'],
    [
      'a map',
      new Map<unknown, unknown>([
        ['key1', 1],
        [{ k: 1 }, 2],
      ]),
      '[["key1",1],[{"k":1},2]]',
    ],
    ['a set', new Set(['member1']), '["member1"]'],
    ['a regular expression', { r: /a"b/gi }, '{"r":"/a\\"b/gi"}'],
    ['boxed values', [Object(1), Object('s'), Object(false), Object(2n)], '[1,"s",false,"2"]'],
    ['a class instance', new Point(), '{"x":42}'],
    [
      'a class instance without fields',
      [new Empty(), Promise.resolve()],
      '["[Empty]","[Promise]"]',
    ],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['a URL', new URL('http://a.test/b'), 'http://a.test/b'],
    ['an object with a then that is no function', JSON.parse('{"then":1}'), '{"then":1}'],
    ['a sparse list', sparse, '[1,null,null,4]'],
    ['one object twice', [shared, shared], '[{"a":1},{"a":1}]'],
    ['an own key __proto__', JSON.parse('{"__proto__":{"x":1}}'), '{"__proto__":{"x":1}}'],
    ['an own key toJSON', { toJSON: 'text' }, '{"toJSON":"text"}'],
    ['a cycle', makeCycle(), '{"a":1,"self":"[Circular]"}'],
    ['a throwing getter', withGetter, '{"ok":1,"bad":"[Threw: no such row]"}'],
    ['a getter that throws its own object', throwsItself, '{"bad":"[Threw: object]"}'],
    ['a throwing toJSON', [{ toJSON: throwing('broken') }, 1], '["[Threw: broken]",1]'],
    ['a toJSON', [{ toJSON: () => ({ a: new Set([1]) }) }], '[{"a":[1]}]'],
    ['a toJSON that gives nothing', [{ toJSON: () => undefined }], '[null]'],
    [
      'a toJSON that gives its own object',
      {
        a: 1,
        toJSON() {
          return this;
        },
      },
      '{"a":1,"toJSON":"[Function toJSON]"}',
    ],
    ['a false tag', { [Symbol.toStringTag]: 'Map', a: 1 }, '{"a":1}'],
    [
      'a map of another realm',
      runInNewContext('new Map([["a", new Date(0)]])'),
      '[["a","1970-01-01T00:00:00.000Z"]]',
    ],
    ['a lone surrogate', 'before \ud83d after', 'before \ufffd after'],
    ['a lone surrogate inside', { a: '\ud83d' }, '{"a":"\ufffd"}'],
    [
      'keys that differ in a lone surrogate',
      { '\ud800': 1, '\ud801': 2 },
      '{"\\ud800":1,"\\ud801":2}',
    ],
  ])('writes %s', (_, value, expected) => {
    expect(stringifyToolOutput(value)).toBe(expected);
  });

  it.each<[string, unknown, unknown]>([
    ['an error', new Error('inner failure'), { name: 'Error', message: 'inner failure' }],
    [
      'the causes of an error',
      new TypeError('outer', { cause: new Error('inner', { cause: 'disk' }) }),
      {
        name: 'TypeError',
        message: 'outer',
        cause: { name: 'Error', message: 'inner', cause: 'disk' },
      },
    ],
    [
      'the errors of an aggregate',
      new AggregateError([new Error('one')], 'all'),
      { name: 'AggregateError', message: 'all', errors: [{ name: 'Error', message: 'one' }] },
    ],
    [
      'an error with a toJSON, without its stack',
      Object.assign(new Error('a'), { toJSON: () => ({ stack: 'at x' }) }),
      { name: 'Error', message: 'a' },
    ],
    [
      'an error of another realm',
      runInNewContext('new RangeError("far")'),
      { name: 'RangeError', message: 'far' },
    ],
  ])('writes %s', (_, value, expected) => {
    expect(JSON.parse(stringifyToolOutput([value]))).toEqual([expected]);
  });

  it.each<[string, unknown, unknown]>([
    ['a buffer', Buffer.from('hi'), { type: 'bytes', sizeBytes: 2, base64: 'aGk=' }],
    ['an array buffer', new ArrayBuffer(1), { type: 'bytes', sizeBytes: 1, base64: 'AA==' }],
    [
      'a part of a buffer',
      new Uint8Array([1, 2, 3]).subarray(1, 2),
      { type: 'bytes', sizeBytes: 1, base64: 'Ag==' },
    ],
    ['wide numbers', new Uint16Array(2), { type: 'bytes', sizeBytes: 4, base64: 'AAAAAA==' }],
    ['no bytes', new DataView(new ArrayBuffer(0)), { type: 'bytes', sizeBytes: 0, base64: '' }],
    [
      'bytes up to 1 KiB',
      new Uint8Array(1_024),
      { type: 'bytes', sizeBytes: 1_024, base64: expect.stringMatching(/^A+=*$/) },
    ],
    [
      'more bytes by their size alone',
      Buffer.alloc(200_000, 7),
      { type: 'bytes', sizeBytes: 200_000 },
    ],
  ])('describes %s', (_, value, expected) => {
    expect(JSON.parse(stringifyToolOutput(value))).toEqual(expected);
  });

  it('cuts what is nested too deeply', () => {
    expect(stringifyToolOutput(nest(99))).toContain('core');
    const text = stringifyToolOutput(nest(10_000));
    expect(text).toContain('"[Too deep]"');
    expect(text).not.toContain('core');
  });

  it('cuts lists and objects that are too wide', () => {
    expect(stringifyToolOutput(new Array(4_000_000_000))).toMatch(
      /^\[(?:null,){199999}"\[Truncated\]"\]$/,
    );
    const wide = Object.fromEntries(Array.from({ length: 300_000 }, (_, index) => [index, 0]));
    expect(stringifyToolOutput(wide)).toMatch(/,"\[Truncated\]":true\}$/);
  });

  it('ends on values that grow while they are read', () => {
    const bush = (): unknown =>
      new Proxy([1, 2, 3], {
        get: (list, key) =>
          key === 'length' || typeof key === 'symbol' ? Reflect.get(list, key) : bush(),
      });
    const twins = (depth: number): unknown => {
      const inner = depth === 0 ? 1 : twins(depth - 1);
      return [inner, inner];
    };
    expect(stringifyToolOutput(bush())).toContain('[Truncated]');
    expect(stringifyToolOutput(twins(60))).toContain('[Truncated]');
  });

  it('cuts when one long text occurs again and again', () => {
    const long = 'a'.repeat(1_000_000);
    const text = stringifyToolOutput(new Array(10_000).fill(long));
    expect(text.length).toBeLessThan(9_000_000);
    expect(text).toMatch(/"\[Truncated\]"\]$/);
  });

  it('gives a reason instead of the content of a revoked proxy', () => {
    expect(stringifyToolOutput(makeRevokedProxy())).toMatch(/^\[Threw: .*revoked.*\]$/);
    expect(stringifyToolOutput({ a: 1, b: makeRevokedProxy() })).toMatch(/^\{"a":1,"b":"\[Threw: /);
  });

  it('leaves Object.prototype alone', () => {
    stringifyToolOutput(
      JSON.parse('[{"__proto__":{"polluted":1}},{"constructor":{"prototype":{"polluted":1}}}]'),
    );
    expect('polluted' in {}).toBe(false);
  });

  it('is what JSON.stringify gives for plain JSON', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 4 })), (value) => {
        expect(stringifyToolOutput(value)).toBe(JSON.stringify(value));
      }),
    );
  });
});

const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  stringUnit: 'binary',
});

it('always gives well-formed text, and JSON for every list', () => {
  fc.assert(
    fc.property(anything, (value) => {
      expect(() => encodeURIComponent(stringifyToolOutput(value))).not.toThrow();
      expect(Array.isArray(JSON.parse(stringifyToolOutput([value])))).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

describe('describeThrown', () => {
  const nameless = Object.assign(new Error('m'), { name: '' });
  it.each<[string, unknown, string]>([
    ['an error', new Error('bad input'), 'bad input'],
    ['an error with a name', new TypeError('bad input'), 'TypeError: bad input'],
    ['an error of another realm', runInNewContext('new RangeError("far")'), 'RangeError: far'],
    ['an abort', new DOMException('stopped', 'AbortError'), 'AbortError: stopped'],
    ['an error without a message', new Error(' '), 'Error'],
    ['a named error without a message', new TypeError(), 'TypeError'],
    ['an error without a name', nameless, 'm'],
    [
      'an error whose message is an object',
      Object.assign(new Error(), { message: { a: 1n } }),
      '{"a":"1"}',
    ],
    [
      'an error whose message cannot be read',
      Object.defineProperty(new Error(), 'message', { get: throwing('no') }),
      '[Threw: no]',
    ],
    ['a string', 'quota used up', 'quota used up'],
    ['an empty string', '', 'Threw an empty value'],
    ['a blank string', ' \n', 'Threw an empty value'],
    ['undefined', undefined, 'Threw undefined'],
    ['null', null, 'Threw null'],
    ['a number', 0, '0'],
    [
      'a plain object',
      { code: 'E42', message: 'no such row' },
      '{"code":"E42","message":"no such row"}',
    ],
    ['an empty object', {}, '{}'],
    [
      'an object that reads as nothing',
      { toJSON: () => '', toString: throwing(1) },
      'Threw an empty value',
    ],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['a function', throwing, '[Function throwing]'],
    ['a lone surrogate', new Error('a\ud800'), 'a\ufffd'],
  ])('describes %s', (_, value, expected) => {
    expect(describeThrown(value)).toBe(expected);
  });

  it('gives a reason for a revoked proxy', () => {
    expect(describeThrown(makeRevokedProxy())).toContain('revoked');
  });

  it('always gives well-formed text that is not blank', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const text = describeThrown(value);
        expect(text.trim()).not.toBe('');
        expect(() => encodeURIComponent(text)).not.toThrow();
      }),
    );
  });
});
