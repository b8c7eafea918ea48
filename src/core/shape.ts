/** Shapes of plain values, put together from small checks, and the place where a value does not keep to its shape. */
import type { ShapeProblem } from './block-shape.ts';
import { isJsonObject, jsonProblem } from './json.ts';

/** What keeps a value from its shape, and where; null when it keeps to it. `path` is where the value itself stands. */
export type Check = (value: unknown, path: string) => ShapeProblem | null;

/** A check for each field. Fields that it does not name may be there, and may be anything. */
export type Shape<Type> = { readonly [Field in keyof Type]-?: Check };

export const leaf =
  (expected: string, holds: (value: unknown) => boolean): Check =>
  (value, path) =>
    holds(value) ? null : { path, expected, got: value };

export const isText = leaf('a text', (value) => typeof value === 'string');
export const isBoolean = leaf('true or false', (value) => typeof value === 'boolean');
export const isCount = leaf(
  'a number from 0 up',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
);
export const isWhole = leaf(
  'a whole number from 0 up',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);

/** Deeper values overflow the stack where they are written as JSON. */
const maxDepth = 500;
export const isJson = leaf(
  `JSON of at most ${maxDepth} levels`,
  (value) => value !== undefined && jsonProblem(value, maxDepth) === null,
);

export const isOneOf = (...known: readonly unknown[]): Check =>
  leaf(`one of ${known.map(String).join(', ')}`, (value) => known.includes(value));

export const orNull =
  (check: Check): Check =>
  (value, path) => {
    const problem = value === null ? null : check(value, path);
    return problem && { ...problem, expected: orNothing(problem, path, 'null') };
  };

/** For a field that may be left out. */
export const orAbsent =
  (check: Check): Check =>
  (value, path) => {
    const problem = value === undefined ? null : check(value, path);
    return problem && { ...problem, expected: orNothing(problem, path, 'nothing') };
  };

const orNothing = ({ path, expected }: ShapeProblem, own: string, word: string): string =>
  path === own ? `${expected}, or ${word}` : expected;

export const isListOf =
  (check: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return { path, expected: 'a list', got: value };
    for (const [index, item] of value.entries()) {
      const problem = check(item, `${path}[${index}]`);
      if (problem) return problem;
    }
    return null;
  };

export const isShaped =
  <Type>(shape: Shape<Type>): Check =>
  (value, path) => {
    const stranger = plainProblem(value, path);
    if (stranger || !isJsonObject(value)) return stranger;
    for (const [field, check] of Object.entries<Check>(shape)) {
      const problem = check(ownField(value, field), fieldPath(path, field));
      if (problem) return problem;
    }
    return null;
  };

/** Not an object, or one with a field that a copy of it would take for its prototype. */
export function plainProblem(value: unknown, path: string): ShapeProblem | null {
  if (!isJsonObject(value)) return { path, expected: 'an object', got: value };
  if (!Object.hasOwn(value, '__proto__')) return null;
  return { path: fieldPath(path, '__proto__'), expected: 'no such field', got: 'one' };
}

/** An object whose field `by` says which of these shapes it has. */
export const isEither =
  (by: string, shapes: { readonly [name: string]: Check }): Check =>
  (value, path) => {
    if (!isJsonObject(value)) return { path, expected: 'an object', got: value };
    const name = ownField(value, by);
    const check = typeof name === 'string' && Object.hasOwn(shapes, name) ? shapes[name] : null;
    if (check) return check(value, path);
    return isOneOf(...Object.keys(shapes))(name, fieldPath(path, by));
  };

/** The first problem of several checks of one value. */
export const isAll =
  (...checks: readonly Check[]): Check =>
  (value, path) => {
    for (const check of checks) {
      const problem = check(value, path);
      if (problem) return problem;
    }
    return null;
  };

export const ownField = (value: { readonly [key: string]: unknown }, field: string): unknown =>
  Object.hasOwn(value, field) ? value[field] : undefined;

/** `context.calls`, `children["tool.a"]`. */
export function fieldPath(path: string, field: string): string {
  if (/^[A-Za-z_$][\w$]{0,79}$/.test(field)) return path === '' ? field : `${path}.${field}`;
  const shown = field.length > 80 ? `${field.slice(0, 80)}…` : field;
  return `${path}[${JSON.stringify(shown)}]`;
}

/** Most steps of a path to what is no JSON: enough to find it by. */
const maxSteps = 12;

/** Where a value holds what JSON can't, or is deeper than `most` levels; null when nothing does. */
export function jsonMisfit(root: unknown, most = 2 * maxDepth): ShapeProblem | null {
  if (jsonProblem(root, most) === null) return null;
  let [path, value, levels]: readonly [string, unknown, number] = ['', root, most];
  for (let step = 0; step < maxSteps; step += 1) {
    const inner = innerProblem(value, path, levels - 1);
    if (inner === null) break;
    [path, value] = inner;
    levels -= 1;
  }
  return { path, expected: jsonProblem(value, levels) ?? 'JSON', got: value };
}

function innerProblem(
  value: unknown,
  path: string,
  levels: number,
): readonly [string, unknown] | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined && !Array.isArray(value)) continue;
    const at = Array.isArray(value) ? `${path}[${key}]` : fieldPath(path, key);
    if (jsonProblem(item, levels) !== null) return [at, item];
  }
  return null;
}
