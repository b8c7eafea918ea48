import { isDeepStrictEqual } from 'node:util';
import type { RunSnapshot } from 'pawl';
import type { Action } from './load-case.ts';

/** Changes a stored snapshot as the case says. Its answer may be no snapshot any more, and no JSON. */
export function mutateSnapshot(text: string, mutate: Action['mutate']): string {
  switch (mutate?.op) {
    case undefined:
      return text;
    case 'setVersion': {
      const snapshot = JSON.parse(text);
      snapshot.context.schemaVersion = mutate.value;
      return JSON.stringify(snapshot);
    }
    case 'truncate':
      return text.slice(0, Math.floor(text.length * (mutate.keep ?? 0)));
    case 'replace':
      return typeof mutate.value === 'string' ? mutate.value : JSON.stringify(mutate.value);
    default:
      throw new Error(`unknown mutation ${JSON.stringify(mutate?.op)}`);
  }
}

/** A stored snapshot as an app reads it. One that is no JSON stays the text it is: refusing it is up to Pawl. */
export function readSnapshot(text: string): string | RunSnapshot {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fields that tell the time. */
const volatile = new Set(['activeMs', 'retryAt']);

/** Pairs of snapshots that are equal, as `b=c`: those that the case asks about, or all when it names none. */
export function equalSnapshots(
  expectation: unknown,
  snapshots: ReadonlyMap<string, string>,
): readonly string[] {
  const stable = new Map([...snapshots].map(([name, text]) => [name, withoutVolatile(text)]));
  const names = [...stable.keys()];
  const asked = [...JSON.stringify(expectation).matchAll(/"([^"=]+)=([^"=]+)"/g)]
    .map(([, left = '', right = '']) => [left, right] as const)
    .filter(([left, right]) => stable.has(left) && stable.has(right));
  const all = names.flatMap((left, index) =>
    names.slice(index + 1).map((right) => [left, right] as const),
  );
  return (asked.length > 0 ? asked : all)
    .filter(([left, right]) => isDeepStrictEqual(stable.get(left), stable.get(right)))
    .map(([left, right]) => `${left}=${right}`);
}

const withoutVolatile = (text: string): unknown =>
  JSON.parse(text, (key, value) => (volatile.has(key) ? undefined : value));
