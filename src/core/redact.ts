import { isJsonObject } from './json.ts';
import type { UnaddressedEvent } from './run-event.ts';
import { stringifyToolOutput } from './stringify.ts';

const mark = '[redacted]';
/** Room for the deepest block of a transcript, which has 500 levels, inside an event. */
const maxDepth = 600;
const maxNodes = 200_000;

/** Takes secrets out of text. */
export interface Redactor {
  /** The same text without any secret. */
  text(value: string): string;
  /**
   * A copy of the value with every string in it redacted; never throws. Lists and plain objects stay what they are, any
   * other object becomes its text. In place of what can't be copied stands "[Circular]", "[Too deep]" (600 levels),
   * "[Truncated]" (200,000 values) or "[Threw]".
   */
  value<Value>(value: Value): Value;
  /** The end of `value` that may be the beginning of a secret. Empty when it can't be one. */
  openEnd(value: string): string;
}

/** Knows a secret as it is, and as it looks inside JSON. Longer ones first, so that none hides in another. */
export function redactor(secrets: readonly string[]): Redactor {
  const needles = [...new Set(secrets.flatMap((secret) => [secret, asInJson(secret)]))]
    .filter((secret) => secret !== '')
    .toSorted((a, b) => b.length - a.length);
  // One pass for all: a second one would look for secrets inside the marks of the first.
  const pattern = new RegExp(needles.map(asLiteral).join('|') || '(?!)', 'g');
  const text = (value: string): string =>
    needles.length === 0 ? value : value.replace(pattern, mark);
  return {
    text,
    value: (value) =>
      copyOf(value, { text, nodesLeft: maxNodes, ancestors: new Set() }) as typeof value,
    openEnd(value) {
      const longest = Math.min(value.length, (needles[0]?.length ?? 1) - 1);
      for (let length = longest; length > 0; length -= 1) {
        const end = value.slice(-length);
        if (needles.some((secret) => secret.length > length && secret.startsWith(end))) return end;
      }
      return '';
    },
  };
}

interface Walk {
  readonly text: (value: string) => string;
  nodesLeft: number;
  /** The objects that hold the current value; their number is its depth. */
  readonly ancestors: Set<object>;
}

function copyOf(value: unknown, walk: Walk): unknown {
  walk.nodesLeft -= 1;
  if (typeof value === 'string') return walk.text(value);
  if (typeof value !== 'object' || value === null) return value;
  if (walk.ancestors.has(value)) return '[Circular]';
  if (walk.ancestors.size >= maxDepth) return '[Too deep]';
  walk.ancestors.add(value);
  try {
    return contentsOf(value, walk);
  } catch {
    return '[Threw]';
  } finally {
    walk.ancestors.delete(value);
  }
}

function contentsOf(value: object, walk: Walk): unknown {
  if (Array.isArray(value)) return listOf(value, walk);
  if (isJsonObject(value)) return fieldsOf(value, walk);
  return walk.text(stringifyToolOutput(value));
}

function listOf(value: readonly unknown[], walk: Walk): readonly unknown[] {
  const list: unknown[] = [];
  for (let index = 0; index < value.length; index += 1) {
    if (walk.nodesLeft <= 0) return [...list, '[Truncated]'];
    list.push(fieldOf(value, index, walk));
  }
  return list;
}

function fieldsOf(value: object, walk: Walk): object {
  const fields: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    if (walk.nodesLeft <= 0) {
      fields.push(['[Truncated]', true]);
      break;
    }
    fields.push([walk.text(key), fieldOf(value, key, walk)]);
  }
  // Unlike an assignment, this keeps a key named __proto__ a key like any other.
  return Object.fromEntries(fields);
}

/** A getter may throw; the fields beside it are still of use. */
function fieldOf(value: object, key: PropertyKey, walk: Walk): unknown {
  try {
    return copyOf(Reflect.get(value, key), walk);
  } catch {
    return '[Threw]';
  }
}

const asLiteral = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

const asInJson = (secret: string): string => JSON.stringify(secret).slice(1, -1);

type DeltaEvent = Extract<UnaddressedEvent, { readonly index: number }>;

const isDelta = (event: UnaddressedEvent): event is DeltaEvent => event.type.endsWith('.delta');

/**
 * Redacts events on their way to `emit`. A secret may come in pieces, so the end of a delta that could be the beginning
 * of one is held back until the next delta, or until anything else happens.
 */
export function redactEvents(
  { value, text, openEnd }: Redactor,
  emit: (event: UnaddressedEvent) => void,
): (event: UnaddressedEvent) => void {
  let held: DeltaEvent | null = null;
  const release = (): void => {
    const event = held;
    held = null;
    if (event) emit({ ...event, text: text(event.text) });
  };
  return (event) => {
    if (!isDelta(event)) {
      release();
      emit(value(event));
      return;
    }
    if (held && !isSameBlock(held, event)) release();
    const whole = (held?.text ?? '') + event.text;
    const redacted = text(whole);
    const open = openEnd(redacted);
    held = open === '' ? null : { ...event, text: open };
    const ready = redacted.slice(0, redacted.length - open.length);
    if (ready !== '' || whole === '') emit({ ...event, text: ready });
  };
}

const isSameBlock = (a: DeltaEvent, b: DeltaEvent): boolean =>
  a.type === b.type && a.index === b.index && a.attempt === b.attempt && a.turn === b.turn;
