import { toWellFormed } from './well-formed.ts';

/** A value that JSON can hold without loss. Numbers are finite; there are no cycles and no holes. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. Keys are foreign text: read them with `Object.hasOwn`. */
export type JsonObject = { readonly [key: string]: Json };

/** What `parseJson` found. The reason may quote the text: make it visible before showing it. */
export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly reason: string };

/**
 * Parses JSON text of any depth; never throws. Of two equal keys the last one counts.
 * A number too large for a double, such as 1e400, is refused: it would be written back as null.
 */
export function parseJson(text: string): ParsedJson {
  try {
    const value: Json = JSON.parse(text);
    if (hasOnlyFiniteNumbers(value)) return { ok: true, value };
    return { ok: false, reason: 'The JSON text holds a number that is out of range' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'The text is not JSON';
    return { ok: false, reason: toWellFormed(reason) };
  }
}

/** Whether the value is a plain object: not null, not a list, not a class instance. Looks at no field. */
export function isJsonObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Plain objects of another realm count too, so the root prototype is known by having no parent.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * The one compact JSON text of a value: keys sorted by UTF-16 code units at every level, lone surrogates escaped.
 * Works at any depth. Fields that are undefined are left out.
 * @throws TypeError for anything else that JSON cannot hold, including cycles.
 */
export function canonicalJson(value: Json): string {
  const parts: string[] = [];
  const ancestors = new Set<object>();
  const todo: Work[] = [{ value }];
  for (let work = todo.pop(); work !== undefined; work = todo.pop()) {
    if ('text' in work) {
      parts.push(work.text);
      if (work.leaves !== undefined) ancestors.delete(work.leaves);
    } else if (typeof work.value === 'object' && work.value !== null) {
      enter(work.value, ancestors);
      // A stack takes its work in reverse; pushing one by one also bears very long lists.
      for (const next of unfold(work.value).reverse()) todo.push(next);
    } else {
      parts.push(writeScalar(work.value));
    }
  }
  return parts.join('');
}

type Work =
  | { readonly value: unknown }
  | { readonly text: string; readonly leaves?: object | undefined };

function enter(value: object, ancestors: Set<object>): void {
  if (ancestors.has(value)) throw new TypeError('Not a JSON value: it holds itself');
  ancestors.add(value);
}

function unfold(value: object): Work[] {
  return Array.isArray(value) ? unfoldList(value) : unfoldObject(value);
}

function unfoldList(list: readonly unknown[]): Work[] {
  const work: Work[] = [];
  for (const [index, value] of list.entries()) {
    work.push({ text: index === 0 ? '[' : ',' }, { value });
  }
  work.push({ text: list.length === 0 ? '[]' : ']', leaves: list });
  return work;
}

function unfoldObject(object: object): Work[] {
  const fields = new Map<string, unknown>(Object.entries(object));
  const keys = [...fields.keys()].filter((key) => fields.get(key) !== undefined).sort();
  const work: Work[] = [];
  for (const key of keys) {
    const opening = work.length === 0 ? '{' : ',';
    work.push({ text: `${opening}${JSON.stringify(key)}:` }, { value: fields.get(key) });
  }
  work.push({ text: keys.length === 0 ? '{}' : '}', leaves: object });
  return work;
}

function writeScalar(value: unknown): string {
  if (isJsonScalar(value)) return JSON.stringify(value);
  throw new TypeError(`Not a JSON value: ${typeof value === 'number' ? value : typeof value}`);
}

function hasOnlyFiniteNumbers(root: Json): boolean {
  const todo: Json[] = [root];
  for (let value = todo.pop(); value !== undefined; value = todo.pop()) {
    if (typeof value === 'number' && !Number.isFinite(value)) return false;
    if (typeof value !== 'object' || value === null) continue;
    for (const child of Object.values(value)) todo.push(child);
  }
  return true;
}

/**
 * What keeps a value from being JSON of at most so many levels, in words; null when nothing does. Looks for cycles by
 * their depth. Fields that are undefined count as left out.
 */
export function jsonProblem(root: unknown, maxDepth: number): string | null {
  const todo: (readonly [unknown, number])[] = [[root, 0]];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [value, depth] = next;
    if (typeof value !== 'object' || value === null) {
      if (isJsonScalar(value)) continue;
      return `JSON, which has no ${typeof value === 'number' ? String(value) : typeof value}`;
    }
    if (depth >= maxDepth) return `JSON of at most ${maxDepth} levels`;
    if (!Array.isArray(value) && !isJsonObject(value)) return 'JSON, which has no class instances';
    const isList = Array.isArray(value);
    for (const child of Object.values(value)) {
      if (isList || child !== undefined) todo.push([child, depth + 1]);
    }
  }
  return null;
}

const isJsonScalar = (value: unknown): boolean =>
  value === null ||
  typeof value === 'string' ||
  typeof value === 'boolean' ||
  Number.isFinite(value);
