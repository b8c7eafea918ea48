/** Finds the parts of a machine's config that are code, and gives every part a name. */

/**
 * A function or an actor that stands in the config itself. `path` is a JSON pointer into `machine.config`.
 * `data` only computes values (context, input, output, params) and decides nothing; every other kind hides a part
 * of the machine from whoever reads the config as data.
 */
export interface InlinePart {
  readonly path: string;
  readonly kind: 'guard' | 'action' | 'actor' | 'data' | 'other';
}

const kindsByKey = new Map<string, InlinePart['kind']>([
  ['guard', 'guard'],
  ['guards', 'guard'],
  ['actions', 'action'],
  ['entry', 'action'],
  ['exit', 'action'],
  ['src', 'actor'],
  ['context', 'data'],
  ['input', 'data'],
  ['output', 'data'],
  ['params', 'data'],
]);

/** Lists every function and every unnamed actor of a config, in the config's order. */
export function findInlineParts(config: unknown): readonly InlinePart[] {
  return find(config, [], new Set());
}

/** The name of an action, guard or actor: its string, its `type`, or `inline …` when it is code. */
export function nameOf(part: unknown): string {
  if (typeof part === 'string') return part;
  if (typeof part === 'function') return `inline ${functionName(part)}`;
  return typeOf(part) ?? 'inline part';
}

/** What a function calls itself: XState's own `type` (such as `assign`), else its name. */
export function functionName(part: object): string {
  const type = typeOf(part)?.replace('xstate.', '');
  const name = 'name' in part && typeof part.name === 'string' ? part.name : '';
  return type ?? (name === '' ? 'function' : name);
}

function typeOf(part: unknown): string | null {
  const isObject = (typeof part === 'object' || typeof part === 'function') && part !== null;
  return isObject && 'type' in part && typeof part.type === 'string' ? part.type : null;
}

function find(
  value: unknown,
  keys: readonly string[],
  parents: ReadonlySet<unknown>,
): readonly InlinePart[] {
  const key = keys.at(-1);
  if (typeof value === 'function') return [{ path: pointerTo(keys), kind: kindOf(keys) }];
  if (typeof value !== 'object' || value === null || parents.has(value)) return [];
  if (key === 'src') return [{ path: pointerTo(keys), kind: 'actor' }];
  const within = new Set([...parents, value]);
  return Object.entries(value).flatMap(([child, part]) => find(part, [...keys, child], within));
}

function kindOf(keys: readonly string[]): InlinePart['kind'] {
  // An element of a list is what the list is: /states/a/entry/0 is an action.
  const key = keys.findLast((candidate) => !/^\d+$/.test(candidate)) ?? '';
  return kindsByKey.get(key) ?? 'other';
}

function pointerTo(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
