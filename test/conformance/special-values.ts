import type { Behaviour } from './load-case.ts';

const circular = (): unknown => {
  const value: { name: string; self?: unknown } = { name: 'circular' };
  value.self = value;
  return value;
};

const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const nested = (depth: number): unknown => {
  let value: unknown = 'bottom';
  for (let level = 0; level < depth; level += 1) value = { nested: value };
  return value;
};

class Answer {
  readonly answer = 42;
}

const makers: Readonly<Record<string, (behaviour: Behaviour) => unknown>> = {
  undefined: () => undefined,
  bigint: () => ({ n: 9007199254740993n }),
  circular,
  hugeString: ({ chars = 1_000_000 }) => 'A'.repeat(chars),
  emojiString: ({ chars = 1_000, prefix = '' }) => prefix + '😀'.repeat(chars),
  buffer: ({ bytes = 1_000 }) => Buffer.alloc(bytes, 7),
  date: () => new Date('2024-01-02T03:04:05Z'),
  map: () => new Map([['key1', 1]]),
  set: () => new Set(['member1']),
  error: () => new Error('inner failure'),
  class: () => new Answer(),
  function: () => function special() {},
  symbol: () => Symbol('special'),
  nan: () => ({ a: Number.NaN, b: Number.POSITIVE_INFINITY }),
  loneSurrogate: () => 'before \ud83d after',
  toJSONThrows: () => ({
    toJSON() {
      throw new Error('toJSON failed');
    },
  }),
  getterThrows: () => ({
    get broken() {
      throw new Error('getter failed');
    },
  }),
  revokedProxy: revoked,
  deepNest: ({ depth = 1_000 }) => nested(depth),
  // biome-ignore lint/suspicious/noThenProperty: a tool may return such a thing
  thenable: () => ({ then: 'not a function', answer: 42 }),
};

/** A value that is hard to say in JSON, as a tool may return it. */
export function specialValue(behaviour: Behaviour): unknown {
  const make = makers[behaviour.what ?? ''];
  if (!make) throw new Error(`unknown special ${JSON.stringify(behaviour.what)}`);
  return make(behaviour);
}
