import type { Json } from './json.ts';
import { toWellFormed } from './well-formed.ts';

const maxDepth = 100;
const maxNodes = 200_000;
const maxTextChars = 8_000_000;
const maxReasonChars = 200;
// Binary data fills a context window and tells a model nothing; a key or a digest is short enough to be of use.
const maxInlineBytes = 1_024;
const bigIntLimit = 1n << 65_536n;

/**
 * What a tool returned, as the text a model reads; never throws, always well-formed Unicode.
 * A string is taken as it is, null and undefined give '', everything else gives compact JSON, or the bare text where
 * the JSON would be one string. What JSON would drop or refuse is kept or named: big integers as digits, maps and
 * sets as lists, errors as name, message and cause, bytes as their size (and base64 up to 1 KiB), and
 * "[Circular]", "[Too deep]" (100 levels), "[Truncated]" (200,000 values or 8 million characters), "[Threw: …]".
 */
export function stringifyToolOutput(value: unknown): string {
  if (typeof value === 'string') return toWellFormed(value);
  if (value === null || value === undefined) return '';
  try {
    const walk = { nodesLeft: maxNodes, charsLeft: maxTextChars, ancestors: new Set<object>() };
    const json = toJson(value, walk) ?? null;
    return typeof json === 'string' ? json : JSON.stringify(json);
  } catch (error) {
    return nameThrow(error);
  }
}

/**
 * Whatever a tool threw, as text that is never blank; never throws. An error gives "Name: message", or only the
 * message when its name is "Error"; other values give what `stringifyToolOutput` makes of them.
 */
export function describeThrown(value: unknown): string {
  const text = isError(value) ? describeError(value) : stringifyToolOutput(value);
  if (text.trim() !== '') return text;
  return value === undefined || value === null ? `Threw ${value}` : 'Threw an empty value';
}

function describeError(error: object): string {
  const name = stringifyToolOutput(readField(error, 'name')).trim();
  const message = stringifyToolOutput(readField(error, 'message'));
  if (message.trim() === '') return name || 'Error';
  return name === '' || name === 'Error' ? message : `${name}: ${message}`;
}

interface Walk {
  nodesLeft: number;
  charsLeft: number;
  /** The objects that hold the current value; their number is its depth. */
  readonly ancestors: Set<object>;
}

function toJson(value: unknown, walk: Walk): Json | undefined {
  walk.nodesLeft -= 1;
  switch (typeof value) {
    case 'string':
      return takeText(value, walk);
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'bigint':
      return takeText(writeBigInt(value), walk);
    case 'symbol':
      return takeText(value.toString(), walk);
    case 'function':
      return takeText(`[Function ${readName(value) || '(anonymous)'}]`, walk);
    case 'object':
      return value === null ? null : objectToJson(value, walk);
    case 'boolean':
      return value;
    default:
      return undefined;
  }
}

function objectToJson(value: object, walk: Walk, mayReplace = true): Json | undefined {
  if (walk.ancestors.has(value)) return '[Circular]';
  if (walk.ancestors.size >= maxDepth) return '[Too deep]';
  walk.ancestors.add(value);
  try {
    return contentsToJson(value, walk, mayReplace);
  } catch (error) {
    return nameThrow(error);
  } finally {
    walk.ancestors.delete(value);
  }
}

/** Bytes, dates and errors come before `toJSON`: theirs lists single bytes, loses invalid dates, shows stacks. */
function contentsToJson(value: object, walk: Walk, mayReplace: boolean): Json | undefined {
  const bytes = viewBytes(value);
  if (bytes !== undefined) return bytesToJson(bytes);
  const kind = readKind(value);
  if (kind === 'Error') return errorToJson(value, walk);
  const time = kind === 'Date' ? attempt(() => Date.prototype.getTime.call(value)) : undefined;
  if (time !== undefined) return Number.isNaN(time) ? 'Invalid Date' : new Date(time).toISOString();
  const replace: unknown = mayReplace ? Reflect.get(value, 'toJSON') : undefined;
  const replaced: unknown = typeof replace === 'function' ? replace.call(value, '') : value;
  if (replaced === value) return builtInToJson(value, kind, walk) ?? fieldsToJson(value, walk);
  if (typeof replaced !== 'object' || replaced === null) return toJson(replaced, walk);
  // As in JSON.stringify, what toJSON gave is not asked for its own toJSON: that could go on forever.
  return objectToJson(replaced, walk, false);
}

/** Undefined for an object that is only its fields. A false tag is seen through: the built-in method refuses it. */
function builtInToJson(value: object, kind: string, walk: Walk): Json | undefined {
  if (Array.isArray(value)) return listToJson(readElements(value), walk);
  switch (kind) {
    case 'Map': {
      const entries = attempt(() => Map.prototype.entries.call(value));
      return entries && listToJson(entries, walk);
    }
    case 'Set': {
      const members = attempt(() => Set.prototype.values.call(value));
      return members && listToJson(members, walk);
    }
    case 'RegExp':
      return takeText(RegExp.prototype.toString.call(value), walk);
    default:
      return boxedToJson(value, kind, walk);
  }
}

const unboxers = new Map<string, { readonly valueOf: () => unknown }>([
  ['Number', Number.prototype],
  ['String', String.prototype],
  ['Boolean', Boolean.prototype],
  ['BigInt', BigInt.prototype],
  ['Symbol', Symbol.prototype],
]);

function boxedToJson(value: object, kind: string, walk: Walk): Json | undefined {
  const unboxer = unboxers.get(kind);
  return (
    unboxer &&
    toJson(
      attempt(() => unboxer.valueOf.call(value)),
      walk,
    )
  );
}

function listToJson(items: Iterable<unknown>, walk: Walk): Json {
  const list: Json[] = [];
  for (const item of items) {
    if (isSpent(walk)) {
      list.push('[Truncated]');
      break;
    }
    list.push(toJson(item, walk) ?? null);
  }
  return list;
}

function* readElements(list: readonly unknown[]): Iterable<unknown> {
  for (let index = 0; index < list.length; index++) yield readField(list, String(index));
}

function fieldsToJson(value: object, walk: Walk): Json {
  const keys = Object.keys(value);
  const className = keys.length === 0 ? readClassName(value) : '';
  if (className !== '') return takeText(`[${className}]`, walk);
  // Without a prototype, a key named __proto__ is a key like any other.
  const fields: Record<string, Json> = Object.create(null);
  for (const key of keys) {
    if (isSpent(walk)) {
      fields['[Truncated]'] = true;
      break;
    }
    const json = toJson(readField(value, key), walk);
    // Lone surrogates in keys are left to JSON.stringify, which escapes them and so keeps two such keys apart.
    if (json !== undefined) fields[cutText(key, walk)] = json;
  }
  return fields;
}

function errorToJson(error: object, walk: Walk): Json {
  const fields: Record<string, Json> = {
    name: toJson(readField(error, 'name'), walk) ?? 'Error',
    message: toJson(readField(error, 'message'), walk) ?? '',
  };
  for (const key of ['cause', 'errors']) {
    const json = toJson(readField(error, key), walk);
    if (json !== undefined) fields[key] = json;
  }
  return fields;
}

function bytesToJson(bytes: Uint8Array): Json {
  const described = { type: 'bytes', sizeBytes: bytes.length };
  if (bytes.length > maxInlineBytes) return described;
  return { ...described, base64: btoa(String.fromCharCode(...bytes)) };
}

function viewBytes(value: object): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  const isBuffer = value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;
  return isBuffer ? new Uint8Array(value) : undefined;
}

/** The built-in kind of an object, also of one from another realm, or its own tag. */
function readKind(value: object): string {
  if (value instanceof Error) return 'Error';
  if (value instanceof Date) return 'Date';
  if (value instanceof Map) return 'Map';
  if (value instanceof Set) return 'Set';
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

function isError(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return attempt(() => readKind(value)) === 'Error';
}

/** The class of an instance, '' for a plain object. */
function readClassName(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return '';
  const maker = readField(value, 'constructor');
  return typeof maker === 'function' ? readName(maker) : '';
}

function readName(value: object): string {
  const name = readField(value, 'name');
  return typeof name === 'string' ? name.slice(0, maxReasonChars) : '';
}

function readField(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch (error) {
    return nameThrow(error);
  }
}

/** Looks no deeper than one message: what a getter throws may have throwing getters itself. */
function nameThrow(thrown: unknown): string {
  const message = isError(thrown) ? attempt(() => Reflect.get(thrown, 'message')) : thrown;
  const reason = typeof message === 'string' ? message : typeof thrown;
  return `[Threw: ${toWellFormed(reason.slice(0, maxReasonChars))}]`;
}

function writeBigInt(value: bigint): string {
  const isHuge = value >= bigIntLimit || value <= -bigIntLimit;
  // The digits of a huge number take time that grows with the square of their count.
  return isHuge ? '[BigInt of more than 65,536 bits]' : value.toString();
}

function takeText(text: string, walk: Walk): string {
  return toWellFormed(cutText(text, walk));
}

function cutText(text: string, walk: Walk): string {
  const roomChars = Math.max(0, walk.charsLeft);
  walk.charsLeft -= text.length;
  return text.length <= roomChars ? text : `${text.slice(0, roomChars)}[Truncated]`;
}

function isSpent(walk: Walk): boolean {
  return walk.nodesLeft <= 0 || walk.charsLeft <= 0;
}

function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
