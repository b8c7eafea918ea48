import { isJsonObject, type JsonObject } from './json.ts';
import { stringifyToolOutput } from './stringify.ts';

/** Longer runs of one blank or hidden character are shown as a count. */
const maxShownRun = 8;
const maxShownDepth = 100;
const maxShownValues = 100_000;
const maxShownChars = 8_000_000;

// Shown as they are: letters, marks, numbers, punctuation and symbols, but not those without a shape of their own
// (default ignorables such as zero-width characters and variation selectors, the empty Braille cell, two fillers).
// Few spaces match nothing, so that ordinary text is fast. A run has an end, since an endless one of some
// megabytes overflows the stack of the regular expression engine.
const hiddenRuns =
  / {9,5000}|([\\\p{Default_Ignorable_Code_Point}\u2800\u{16fe4}\u{1d159}]|[^ \p{L}\p{M}\p{N}\p{P}\p{S}])\1{0,4999}/gu;

/**
 * Foreign text as a person may safely see it on a terminal or in a log: whatever is hidden, controls the display or
 * changes the direction of text becomes an escape such as `\u{202e}`, and a backslash becomes `\\`, so that two
 * different texts never look the same for that reason. More than 8 equal blank or hidden characters become one
 * escape with a count, `\u{20×40}`, for each 5,000 of them. With `multiline`, line feeds and tabs stay.
 */
export function makeVisible(text: string, options: { readonly multiline?: boolean } = {}): string {
  const isMultiline = options.multiline ?? false;
  return text.replace(hiddenRuns, (run, character = ' ') => {
    const times = run.length / character.length;
    const shown = showCharacter(character, isMultiline);
    if (times <= maxShownRun || character === '\\') return shown.repeat(times);
    return `\\u{${toHex(character)}×${times}}`;
  });
}

function showCharacter(character: string, isMultiline: boolean): string {
  if (character === '\\') return '\\\\';
  if (character === '\n') return isMultiline ? '\n' : '\\n';
  if (character === '\t') return isMultiline ? '\t' : '\\t';
  if (character === '\r') return '\\r';
  return `\\u{${toHex(character)}}`;
}

function toHex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

/**
 * The arguments of a tool call as indented JSON for an approval prompt; never throws. Keys and strings are made
 * visible, with `"` as `\"`, so the only raw line breaks and indents are those of the layout. Named in ‹…› outside
 * of any quotes: what JSON cannot hold, and the rest after 100 levels, 100,000 values or 8 million characters.
 */
export function showArguments(input: unknown): string {
  try {
    return showValue(input, {
      depth: 0,
      room: { values: maxShownValues, chars: maxShownChars },
    });
  } catch {
    return `‹${makeVisible(stringifyToolOutput(input))}›`;
  }
}

interface Place {
  readonly depth: number;
  readonly room: { values: number; chars: number };
}

function showValue(value: unknown, place: Place): string {
  place.room.values -= 1;
  if (typeof value === 'string') return showText(value, place);
  if (value === null || typeof value === 'boolean' || Number.isFinite(value)) return String(value);
  if (Array.isArray(value)) return showList(value, place);
  if (isJsonObject(value)) return showObject(value, place);
  return `‹${makeVisible(value === undefined ? 'undefined' : stringifyToolOutput(value))}›`;
}

function showText(text: string, place: Place): string {
  place.room.chars -= text.length;
  if (place.room.chars < 0) return `‹${text.length} characters not shown›`;
  return `"${makeVisible(text).replaceAll('"', '\\"')}"`;
}

function showList(list: readonly unknown[], place: Place): string {
  return layOut('[', ']', list.length, place, (index, inside) => showValue(list[index], inside));
}

function showObject(object: JsonObject, place: Place): string {
  const fields = Object.entries(object);
  return layOut('{', '}', fields.length, place, (index, inside) => {
    const [key, value] = fields[index] ?? [];
    return `${showText(String(key), inside)}: ${showValue(value, inside)}`;
  });
}

function layOut(
  open: string,
  close: string,
  length: number,
  place: Place,
  showAt: (index: number, inside: Place) => string,
): string {
  if (length === 0) return open + close;
  if (place.depth >= maxShownDepth) return '‹too deep to show›';
  const lines: string[] = [];
  const inside = { depth: place.depth + 1, room: place.room };
  for (let index = 0; index < length; index++) {
    if (place.room.values <= 0) {
      lines.push(`‹${length - index} more not shown›`);
      break;
    }
    lines.push(showAt(index, inside));
  }
  const indent = '  '.repeat(place.depth);
  return `${open}\n${lines.map((line) => `${indent}  ${line}`).join(',\n')}\n${indent}${close}`;
}
