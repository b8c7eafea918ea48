import { canonicalJson, type Json } from '../core/json.ts';
import { stringifyToolOutput } from '../core/stringify.ts';

// They stand only inside of strings there, and some readers of lines, and terminals, take them for more than text.
const unsafeInLines = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/**
 * A value as one line of JSON with its line feed; never throws. Control, invisible and direction characters are
 * written as `\u` escapes, so the line is harmless on a terminal and parses to exactly the same value.
 */
export const jsonLine = (value: object): string => `${safeJson(value)}\n`;

/** The same without the line feed. */
export const safeJson = (value: unknown): string =>
  jsonOf(value).replace(unsafeInLines, (character) =>
    Array.from({ length: character.length }, (_, index) =>
      escapeUnit(character.charCodeAt(index)),
    ).join(''),
  );

const escapeUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;

/** JSON.stringify gives up on deep values, the canonical form on what JSON can't hold. */
function jsonOf(value: unknown): string {
  for (const write of [JSON.stringify, canonicalJson]) {
    try {
      return write(value as Json) ?? 'null';
    } catch {}
  }
  return JSON.stringify({ unwritable: stringifyToolOutput(value) });
}
