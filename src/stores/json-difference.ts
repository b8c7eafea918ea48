/** What changed between two JSON objects, so that a series of similar ones takes little room. */
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';

/** Short names, since a difference is kept for every turn of a run. */
export interface Difference {
  /** Fields that are new or different. */
  readonly '='?: JsonObject;
  /** Fields that are gone. */
  readonly '-'?: readonly string[];
  /** What changed within fields that are objects. */
  readonly '>'?: { readonly [key: string]: Difference };
}

/** Objects this deep are compared as a whole: a bound for hostile content. */
const maxDepth = 4;

/** `applyDifference(from, difference(from, to))` equals `to`, but for the order of keys. */
export function difference(from: JsonObject, to: JsonObject, depth = 0): Difference {
  const set: [string, Json][] = [];
  const within: [string, Difference][] = [];
  for (const [key, value] of Object.entries(to)) {
    const before = Object.hasOwn(from, key) ? from[key] : undefined;
    if (JSON.stringify(before) === JSON.stringify(value)) continue;
    if (isJsonObject(before) && isJsonObject(value) && depth < maxDepth) {
      within.push([key, difference(before, value, depth + 1)]);
    } else {
      set.push([key, value]);
    }
  }
  const drop = Object.keys(from).filter((key) => !Object.hasOwn(to, key));
  return {
    ...(set.length > 0 && { '=': Object.fromEntries(set) }),
    ...(drop.length > 0 && { '-': drop }),
    ...(within.length > 0 && { '>': Object.fromEntries(within) }),
  };
}

export function applyDifference(from: JsonObject, change: Difference): JsonObject {
  const { '=': set = {}, '-': drop = [], '>': within = {} } = change;
  // A map, since a key may be `__proto__`: as an entry it is one like any other.
  const fields = new Map<string, Json>(Object.entries(from));
  for (const key of drop) fields.delete(key);
  for (const [key, value] of Object.entries(set)) fields.set(key, value);
  for (const [key, inner] of Object.entries(within)) {
    const before = fields.get(key);
    fields.set(key, applyDifference(isJsonObject(before) ? before : {}, inner));
  }
  return Object.fromEntries(fields);
}
