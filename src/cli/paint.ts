/** Colours of a terminal, or none. The only place where the CLI makes escape sequences of its own. */
export type Style = 'dim' | 'bold' | 'good' | 'bad' | 'warn' | 'accent';

export type Paint = (style: Style, text: string) => string;

const codes: { readonly [Name in Style]: readonly [on: number, off: number] } = {
  dim: [2, 22],
  bold: [1, 22],
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  accent: [36, 39],
};

export const inColour: Paint = (style, text) => {
  const [on, off] = codes[style];
  return text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`;
};

export const plain: Paint = (_style, text) => text;

/** Colours for a terminal that has them, unless NO_COLOR or a dumb terminal says otherwise. */
export function paintFor(
  stream: { readonly isTTY?: boolean; readonly hasColors?: () => boolean },
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const isWanted = !environment.NO_COLOR && environment.TERM !== 'dumb';
  return stream.isTTY && isWanted && (stream.hasColors?.() ?? true) ? inColour : plain;
}
