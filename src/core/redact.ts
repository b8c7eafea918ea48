import { isJsonObject } from './json.ts';
import type { UnaddressedEvent } from './run-event.ts';

const mark = '[redacted]';

/** Takes secrets out of text. */
export interface Redactor {
  /** The same text without any secret. */
  text(value: string): string;
  /** The same value with every string in it redacted. Looks into plain objects and arrays. */
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
  const text = (value: string): string => value.replace(pattern, mark);
  const deep = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(deep);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), deep(item)]));
  };
  return {
    text,
    value: (value) => (needles.length === 0 ? value : (deep(value) as typeof value)),
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
