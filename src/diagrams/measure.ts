/** Sizes of texts and boxes in pixels. No fonts are read, so every machine gets the same picture everywhere. */
import type { ChartState } from './chart.ts';
import type { PlannedNote } from './plan.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Width per character, for the widest of the fonts that a viewer is likely to have. */
export const type = {
  title: { fontSize: 16, character: 11, line: 19 },
  name: { fontSize: 13, character: 9, line: 19 },
  doing: { fontSize: 11, character: 6.9, line: 15 },
  about: { fontSize: 11, character: 6.4, line: 15 },
  note: { fontSize: 10.5, character: 6.4, line: 15 },
  label: { fontSize: 10.5, character: 6.4, line: 14 },
};

/** Tags that a box shows by its colour, which the legend explains. */
export const colouredTags: ReadonlySet<string> = new Set(['busy', 'waitsForHuman']);

export const padding = { x: 14, y: 9 };
const boxCharacters = 34;
const groupCharacters = 64;

/** Size of a state's box without the states inside it. */
export function boxSizeOf(state: ChartState, notes: readonly PlannedNote[]): Size {
  const widths = [
    textWidth(state.key, state.path === '' ? type.title : type.name),
    ...doingOf(state).map((text) => textWidth(text, type.doing)),
    ...aboutOf(state).map((text) => textWidth(text, type.about)),
    ...notes.map(({ text }) => textWidth(text, type.note)),
  ];
  const width = Math.max(72, Math.ceil(Math.max(...widths)) + 2 * padding.x);
  return { width, height: headHeightOf(state, notes) + padding.y };
}

/** Height of the texts at the top of a box, with the padding above them. */
export function headHeightOf(state: ChartState, notes: readonly PlannedNote[]): number {
  const texts = doingOf(state).length * type.doing.line + aboutOf(state).length * type.about.line;
  const gap = notes.length === 0 ? 0 : 8;
  return padding.y + type.name.line + texts + gap + notes.length * type.note.line;
}

export function labelSizeOf(labels: readonly string[]): Size {
  const width = Math.max(0, ...labels.map((text) => textWidth(text, type.label)));
  return { width: Math.ceil(width) + 8, height: labels.length * type.label.line + 4 };
}

/** Short lines under the name: the actors that the state runs, what is special about it, tags without a colour. */
export function doingOf({ type, history, invokes, tags }: ChartState): readonly string[] {
  return [
    ...(type === 'parallel' ? ['all of these at the same time'] : []),
    ...(history === null ? [] : [`goes back to where it was (${history})`]),
    ...invokes.map(({ src }) => `does ${src}`),
    ...tags.filter((tag) => !colouredTags.has(tag)).map((tag) => `#${tag}`),
  ];
}

/** The state's description, broken into lines. */
export function aboutOf({ description, states }: ChartState): readonly string[] {
  return description === null
    ? []
    : wrapText(description, states.length > 0 ? groupCharacters : boxCharacters);
}

export function textWidth(text: string, { character }: { readonly character: number }): number {
  return [...text].length * character;
}

/**
 * Breaks a text between words so that no line is longer than `characters`, but for a single longer word. The lines
 * are made about equally long.
 */
export function wrapText(text: string, characters: number): readonly string[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const lines = fillLines(words, characters);
  for (let shorter = characters - 1; shorter > 0; shorter -= 1) {
    const tighter = fillLines(words, shorter);
    if (tighter.length > lines.length) return fillLines(words, shorter + 1);
  }
  return lines;
}

function fillLines(words: readonly string[], characters: number): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < characters)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
