/** Small checkers for "knows each word of this". A checker reports, by path, what it does not know. */
import { isObject } from './load-case.ts';

export type Report = (problem: string) => void;
export type Shape = (value: unknown, path: string, report: Report) => void;

/** Not ours to read: content of messages, values, prose. */
export const anything: Shape = () => {};

/** An object with no other fields than these, and with all that are required. */
export const fields =
  (
    what: string,
    known: Readonly<Record<string, Shape>>,
    { required = [] }: { readonly required?: readonly string[] } = {},
  ): Shape =>
  (value, path, report) => {
    if (!isObject(value)) {
      report(`${path}: expected an object with the fields of a ${what}`);
      return;
    }
    for (const name of required) {
      if (!Object.hasOwn(value, name)) report(`${path}.${name}: the ${what} is missing`);
    }
    for (const [name, inner] of Object.entries(value)) {
      const shape = Object.hasOwn(known, name) ? known[name] : undefined;
      if (shape) shape(inner, `${path}.${name}`, report);
      else report(`${path}: unknown ${what} ${JSON.stringify(name)}`);
    }
  };

/** An object whose field `key` says which other fields it has. */
export const variants =
  (
    what: string,
    key: string,
    known: Readonly<Record<string, Readonly<Record<string, Shape>>>>,
  ): Shape =>
  (value, path, report) => {
    const kind = isObject(value) ? value[key] : undefined;
    const shape = typeof kind === 'string' && Object.hasOwn(known, kind) ? known[kind] : undefined;
    if (shape)
      fields(`field of the ${what} ${kind}`, { [key]: anything, ...shape })(value, path, report);
    else report(`${path}: unknown ${what} ${JSON.stringify(kind) ?? 'without a name'}`);
  };

export const list =
  (item: Shape): Shape =>
  (value, path, report) => {
    if (!Array.isArray(value)) report(`${path}: expected a list`);
    else value.forEach((entry, index) => void item(entry, `${path}[${index}]`, report));
  };

/** A list that says something. */
export const someOf =
  (item: Shape): Shape =>
  (value, path, report) => {
    if (Array.isArray(value) && value.length === 0) report(`${path}: the list is empty`);
    list(item)(value, path, report);
  };

export const oneOrList =
  (item: Shape): Shape =>
  (value, path, report) =>
    Array.isArray(value) ? list(item)(value, path, report) : item(value, path, report);

/** An object with free names and such values. */
export const record =
  (item: Shape): Shape =>
  (value, path, report) => {
    if (!isObject(value)) report(`${path}: expected an object`);
    else for (const [name, inner] of Object.entries(value)) item(inner, `${path}.${name}`, report);
  };

export const word =
  (what: string, known: readonly unknown[]): Shape =>
  (value, path, report) => {
    if (!known.includes(value)) report(`${path}: unknown ${what} ${JSON.stringify(value)}`);
  };

export const textLike =
  (what: string, pattern: RegExp): Shape =>
  (value, path, report) => {
    if (typeof value !== 'string' || !pattern.test(value)) {
      report(`${path}: unknown ${what} ${JSON.stringify(value)}`);
    }
  };

/** A plain text or number, or else what `shape` says. */
export const plainOr =
  (shape: Shape): Shape =>
  (value, path, report) => {
    if (isObject(value)) shape(value, path, report);
  };

/** For shapes that hold themselves. */
export const lazy =
  (shape: () => Shape): Shape =>
  (value, path, report) =>
    shape()(value, path, report);
