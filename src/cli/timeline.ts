/** The story of a stored run as lines. */
import { usdOfMicros } from '../core/price.ts';
import type { StepRecord } from '../stores/store.ts';
import type { Paint } from './paint.ts';
import { formatCount, formatMs, formatUsd, showLine } from './show-text.ts';
import { type Cell, type Column, tableLines } from './table.ts';

const columns: readonly Column[] = [
  { head: 'STEP', isRight: true },
  { head: 'TIME' },
  { head: 'STATE' },
  { head: 'TURN', isRight: true },
  { head: 'AFTER' },
  { head: 'SPENT', isRight: true },
  { head: '', isRight: true },
];

const maxShown = 60;
const firstShown = 10;

/** One line for each step, oldest first, with the spend so far. Of a long story, its beginning and its end. */
export function timelineLines(steps: readonly StepRecord[], paint: Paint): readonly string[] {
  const isLong = steps.length > maxShown;
  const shown = isLong
    ? [...steps.slice(0, firstShown), ...steps.slice(firstShown - maxShown)]
    : steps;
  const days = new Set(shown.map(({ atMs }) => dayOf(atMs)));
  const rows = shown.map((step) => rowOf(step, days.size > 1));
  const lines = tableLines(columns, rows, paint);
  if (!isLong) return lines;
  const gap = `  ${paint('dim', `… ${formatCount(steps.length - maxShown)} steps between; --json has them all`)}`;
  return [...lines.slice(0, firstShown + 1), gap, ...lines.slice(firstShown + 1)];
}

const rowOf = (step: StepRecord, hasDays: boolean): readonly Cell[] => {
  const { saveVersion, atMs, state, cause, turn, spend } = step;
  return [
    ['dim', String(saveVersion)],
    hasDays ? `${dayOf(atMs)} ${timeOf(atMs)}` : timeOf(atMs),
    showLine(state),
    String(turn),
    ['dim', causeOf(cause)],
    `${formatCount(spend.inputTokens + spend.outputTokens)} tokens`,
    spend.costMicros > 0 ? formatUsd(usdOfMicros(spend.costMicros)) : '',
  ];
};

/** XState's names for what its actors did, in words: `modelCall is done`. */
export function causeOf(event: string): string {
  const [, kind, actor = ''] = /^xstate\.(done|error)\.actor\.(.{1,200})$/su.exec(event) ?? [];
  if (kind === undefined) return showLine(event === 'xstate.init' ? 'run.started' : event);
  return `${showLine(actor)} ${kind === 'done' ? 'is done' : 'failed'}`;
}

const two = (number: number, digits = 2): string => String(number).padStart(digits, '0');

function dayOf(ms: number): string {
  const date = new Date(ms);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function timeOf(ms: number): string {
  const date = new Date(ms);
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => two(part));
  return `${clock.join(':')}.${two(date.getMilliseconds(), 3)}`;
}

/** `2026-11-29 21:58:19, 7 steps over 3.1 s`. */
export function spanOf(steps: readonly StepRecord[]): string {
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined) return 'no steps';
  const count = `${formatCount(steps.length)} ${steps.length === 1 ? 'step' : 'steps'}`;
  return `${dayOf(first.atMs)} ${timeOf(first.atMs)} · ${count} over ${formatMs(last.atMs - first.atMs)}`;
}
