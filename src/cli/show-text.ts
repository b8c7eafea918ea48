/** Foreign text for people's eyes: nothing in it may steer a terminal. */

import type { ToolResult } from '../core/message.ts';
import { stringifyToolOutput } from '../core/stringify.ts';
import { makeVisible } from '../core/visible.ts';

/**
 * Text of several lines. Hidden and control characters become escapes; unlike in an approval, a backslash stays one,
 * since prose and code are read here and not compared.
 */
export const showProse = (text: string): string =>
  text
    .split('\\')
    .map((piece) => makeVisible(piece, { multiline: true }))
    .join('\\');

/** The same on one line. */
export const showLine = (text: string): string =>
  text
    .split('\\')
    .map((piece) => makeVisible(piece))
    .join('\\');

export interface Cut {
  readonly maxChars: number;
  readonly maxLines: number;
}

/** The beginning of a text, and a note that says how much is not shown. */
export function cutForDisplay(text: string, { maxChars, maxLines }: Cut): string {
  const endOfLines = endOfLine(text, maxLines);
  const end = floorToPair(text, Math.min(maxChars, endOfLines));
  if (end >= text.length) return text;
  return `${text.slice(0, end)}… (${formatCount(text.length - end)} more characters)`;
}

function endOfLine(text: string, lines: number): number {
  let end = -1;
  for (let line = 0; line < lines; line += 1) {
    end = text.indexOf('\n', end + 1);
    if (end === -1) return text.length;
  }
  return end;
}

function floorToPair(text: string, index: number): number {
  const isHigh = /[\ud800-\udbff]/.test(text.charAt(index - 1));
  return index < text.length && isHigh ? index - 1 : index;
}

const shortCut: Cut = { maxChars: 300, maxLines: 1 };
const resultCut: Cut = { maxChars: 1_200, maxLines: 12 };

/** Arguments or a progress value on one line, cut when long. */
export const showValue = (value: unknown): string =>
  showLine(cutForDisplay(typeof value === 'string' ? value : compactJson(value), shortCut));

function compactJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return stringifyToolOutput(value);
  }
}

/** What a tool answered, cut when long. Blocks that are not text are named. */
export const showResult = ({ content }: ToolResult): string =>
  showProse(
    cutForDisplay(
      typeof content === 'string' ? content : content.map(blockText).join('\n'),
      resultCut,
    ),
  );

const blockText = (block: Exclude<ToolResult['content'], string>[number]): string =>
  block.type === 'text' ? block.text : `[${block.type}]`;

export const formatCount = (count: number): string => count.toLocaleString('en-US');

/** `$0.0058`; small amounts are not rounded to nothing. */
export function formatUsd(usd: number): string {
  if (usd > 0 && usd < 0.0001) return 'less than $0.0001';
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

export function formatMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

const ageUnits = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

/** How long ago, in the largest unit that fits: `12 s`, `3 min`, `5 h`, `41 d`. */
export function formatAge(ms: number): string {
  const [unit, unitMs] = ageUnits.find(([, size]) => ms >= size) ?? (['s', 1_000] as const);
  return `${formatCount(Math.max(0, Math.floor(ms / unitMs)))} ${unit}`;
}
