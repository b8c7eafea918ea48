/** Ways to break a value of JSON at each place in it. */

export interface Mutation {
  /** `context.calls[0].id`; of a child: `children["tool.a"].snapshot.value`. */
  readonly path: string;
  /** The same without indexes and ids: what is broken, whichever one it is. */
  readonly schemaPath: string;
  readonly kind: string;
  /** What is left of the whole. */
  readonly apply: () => unknown;
}

type Key = string | number;
type Holder = Record<Key, unknown>;
type Replacement = readonly [kind: string, value: unknown];

const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null;

const everywhere: readonly Replacement[] = [
  ['null', null],
  ['a number', 7],
  ['a text', 'nonsense'],
  ['true', true],
  ['a list', []],
  ['an object', {}],
  ['a list in a list', [[]]],
  ['an actor reference', { xstate$$type: 1, id: 'tool.send_1' }],
  ['what looks like an actor', { sessionId: 'x:0', send: {}, ref: {} }],
  ['a value of 10,000 levels', deep(10_000)],
];

const ofNumbers: readonly Replacement[] = [
  ['a negative number', -1],
  ['a fraction', 0.5],
  ['a huge number', 1e308],
  ['a number as text', '1'],
  ['a number beyond JSON', Number.POSITIVE_INFINITY],
];

const ofTexts: readonly Replacement[] = [
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['an empty text', ''],
  ['a lone surrogate', '\ud800'],
  ['a huge text', 'x'.repeat(100_000)],
];

function deep(levels: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

function replacementsOf(value: unknown): readonly Replacement[] {
  const own = typeof value === 'number' ? ofNumbers : typeof value === 'string' ? ofTexts : [];
  return [...everywhere, ...own].filter(([, other]) => isHolder(other) || other !== value);
}

/** Every mutation of a value, of those in it, and so on. The value itself stays as it is. */
export function* mutationsOf(root: unknown): Generator<Mutation> {
  for (const [keys, value] of placesIn(root, [])) {
    const path = pathOf(keys);
    const schemaPath = schemaPathOf(keys);
    const told = (kind: string, apply: () => unknown): Mutation => ({
      path,
      schemaPath,
      kind,
      apply,
    });
    for (const [kind, other] of replacementsOf(value)) {
      if (isHolder(other) && isEmpty(other) && isHolder(value) && isEmpty(value)) continue;
      yield told(kind, () => replaced(root, keys, other));
    }
    if (keys.length > 0) yield told('left out', () => without(root, keys));
    if (isHolder(value) && !Array.isArray(value)) {
      yield told('with an own __proto__', () => replaced(root, keys, withOwn(value, '__proto__')));
      yield told('with an own constructor', () =>
        replaced(root, keys, withOwn(value, 'constructor')),
      );
    }
    if (Array.isArray(value) && value.length > 0) {
      yield told('doubled', () => replaced(root, keys, [...value, ...value]));
      yield told('emptied', () => replaced(root, keys, []));
    }
  }
}

const isEmpty = (value: Holder): boolean => Object.keys(value).length === 0;

function* placesIn(
  value: unknown,
  keys: readonly Key[],
): Generator<readonly [readonly Key[], unknown]> {
  yield [keys, value];
  if (!isHolder(value)) return;
  const own = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const key of own) yield* placesIn(value[key], [...keys, key]);
}

function replaced(root: unknown, keys: readonly Key[], value: unknown): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return value;
  const copy = (Array.isArray(root) ? [...root] : { ...(root as Holder) }) as Holder;
  copy[key] = replaced(copy[key], rest, value);
  return copy;
}

function without(root: unknown, keys: readonly Key[]): unknown {
  const [key = '', ...rest] = keys;
  if (Array.isArray(root)) {
    return rest.length === 0
      ? root.filter((_, index) => index !== key)
      : root.with(Number(key), without(root[Number(key)], rest));
  }
  const copy = { ...(root as Holder) };
  if (rest.length === 0) delete copy[key];
  else copy[key] = without(copy[key], rest);
  return copy;
}

/** As `JSON.parse` makes it: an own field of that name, whatever it means. */
const withOwn = (value: Holder, name: string): unknown =>
  JSON.parse(
    `{${JSON.stringify(name)}:{"isPolluted":true},${JSON.stringify(value).slice(1)}`.replace(
      /,\}$/,
      '}',
    ),
  );

const isPlain = (key: string): boolean => /^[A-Za-z_$][\w$]*$/.test(key);

const pathOf = (keys: readonly Key[]): string =>
  keys.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`;
    if (!isPlain(key)) return `${path}[${JSON.stringify(key)}]`;
    return path === '' ? key : `${path}.${key}`;
  }, '');

const schemaPathOf = (keys: readonly Key[]): string =>
  pathOf(
    keys.map((key) => (typeof key === 'string' ? key.replace(/^tool\..*/, 'tool.*') : key)),
  ).replace(/\[\d+\]/g, '[]');
