/** Below this many characters there is no room for a note, and the text is only cut. */
const minCharsForNote = 100;

/**
 * The text, cut to at most `maxChars` UTF-16 units: about two thirds from its head, the rest from its tail, and
 * between them a line that says how many characters are missing. Never splits a surrogate pair.
 * Text that fits comes back as it is; with `maxChars` below 100 only the head is kept, without a note.
 */
export function limitOutput(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (!(maxChars >= minCharsForNote))
    return text.slice(0, floorToPair(text, Math.max(0, Math.floor(maxChars))));
  // The number in the final note is smaller than the whole length, so this note is at least as long.
  const keptChars = Math.floor(maxChars) - noteOmission(text.length).length;
  const headChars = Math.ceil((keptChars * 2) / 3);
  const headEnd = floorToPair(text, headChars);
  const tailStart = ceilToPair(text, text.length - (keptChars - headChars));
  return text.slice(0, headEnd) + noteOmission(tailStart - headEnd) + text.slice(tailStart);
}

function noteOmission(chars: number): string {
  return `\n[… ${chars} characters omitted …]\n`;
}

function floorToPair(text: string, index: number): number {
  return splitsPair(text, index) ? index - 1 : index;
}

function ceilToPair(text: string, index: number): number {
  return splitsPair(text, index) ? index + 1 : index;
}

function splitsPair(text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1);
  const after = text.charCodeAt(index);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
