import { isJsonObject } from './json.ts';
import { toWellFormed } from './well-formed.ts';

/**
 * The value with each lone surrogate in its texts and keys replaced by U+FFFD. What has none comes back as it is, the
 * very same object. As deep as `JSON.stringify` bears.
 */
export const wellFormedJson = <Value>(value: Value): Value => mend(value) as Value;

function mend(value: unknown): unknown {
  if (typeof value === 'string') return toWellFormed(value);
  if (Array.isArray(value)) return mendList(value);
  return isJsonObject(value) ? mendObject(value) : value;
}

function mendList(list: readonly unknown[]): readonly unknown[] {
  const mended = list.map(mend);
  return mended.every((item, index) => Object.is(item, list[index])) ? list : mended;
}

/** `Object.fromEntries` keeps a `__proto__` key as the plain data that it is. */
function mendObject(object: object): object {
  const fields = Object.entries(object);
  const mended = fields.map(([key, child]): [string, unknown] => [toWellFormed(key), mend(child)]);
  const isSame = mended.every(
    ([key, child], index) => key === fields[index]?.[0] && Object.is(child, fields[index]?.[1]),
  );
  return isSame ? object : Object.fromEntries(mended);
}
