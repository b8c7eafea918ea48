/** Text that is safe inside an XML document. */

const entities = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&apos;'],
]);

/** Escapes markup, and replaces what XML cannot hold (control characters, lone surrogates) with U+FFFD. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"']/g, (character) => entities.get(character) ?? character);
}

/** One line of text whose baseline begins at a point. */
export function textLine(className: string, x: number, y: number, text: string): string {
  return `<text class="${className}" x="${round(x)}" y="${round(y)}">${escapeXml(text)}</text>`;
}

/** A coordinate with at most two decimals, so that documents stay small and equal. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}
