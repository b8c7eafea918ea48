/** A run's events as lines for people. Foreign text is made visible here; nothing is printed. */
import { optionOfLimit } from '../core/budget.ts';
import type { Failure } from '../core/failure.ts';
import { allInputTokens } from '../core/reply.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { ToolEnding } from '../core/tool-call.ts';
import type { RunResult, Spend } from '../runtime/run-result.ts';
import type { Paint, Style } from './paint.ts';
import {
  formatCount,
  formatMs,
  formatUsd,
  showLine,
  showProse,
  showResult,
  showValue,
} from './show-text.ts';

const stateIndent = '  ';
const detailIndent = '      ';

/** The talk about one event; none for what is shown in another way, or only in the JSON output. */
export function linesOf(event: RunEvent, paint: Paint): readonly string[] {
  switch (event.type) {
    case 'state.entered':
      return [stateLine(event.state, paint)];
    case 'model.started':
      return [detail(paint('dim', attemptLine(event)))];
    case 'model.replied':
      return [detail(paint('dim', replyLine(event)))];
    case 'model.failed':
      return failureLines(event, paint);
    case 'tool.started':
      return [
        detail(`${paint('accent', '→')} ${callLine(event.name, event.input)}${attemptNote(event)}`),
      ];
    case 'tool.progress':
      return [detail(paint('dim', `· ${showValue(event.value)}`))];
    case 'tool.settled':
      return settledLines(event, paint);
    case 'limit.near':
      return [
        detail(
          paint('warn', `! close to ${optionOfLimit(event.limit.name)}: ${amounts(event.limit)}`),
        ),
      ];
    default:
      return [];
  }
}

const detail = (text: string): string => detailIndent + text;

const stateStyles: ReadonlyMap<string, Style> = new Map([
  ['completed', 'good'],
  ['exhausted', 'warn'],
  ['refused', 'warn'],
  ['failed', 'bad'],
  ['cancelled', 'warn'],
]);

/** Colour of a run's status in lists. */
export const styleOfEnd = (status: string): Style =>
  stateStyles.get(status) ?? (status === 'waiting' ? 'warn' : 'accent');

function stateLine(state: string, paint: Paint): string {
  const style = stateStyles.get(state);
  if (style) return `${stateIndent}${paint(style, `● ${state}`)}`;
  return `${stateIndent}${paint('dim', '○')} ${state}`;
}

function attemptLine({
  model,
  turn,
  attempt,
}: Extract<RunEvent, { type: 'model.started' }>): string {
  return `turn ${turn} · ${showLine(model)}${attempt > 1 ? ` · attempt ${attempt}` : ''}`;
}

function replyLine({
  stopReason,
  usage,
  costUsd,
}: Extract<RunEvent, { type: 'model.replied' }>): string {
  const tokens = `${formatCount(allInputTokens(usage))} tokens in, ${formatCount(usage.outputTokens)} out`;
  return [stopReason, tokens, ...(costUsd === null ? [] : [formatUsd(costUsd)])].join(' · ');
}

function failureLines(
  { failure, isRetryable }: Extract<RunEvent, { type: 'model.failed' }>,
  paint: Paint,
): readonly string[] {
  const next = isRetryable ? ' It may be tried again.' : '';
  return indented(paint('bad', '✗'), `${showFailure(failure)}${next}`);
}

const showFailure = ({ code, message }: Failure): string => `${showProse(message)} (${code})`;

export const callLine = (name: string, input: unknown): string =>
  `${showLine(name)} ${showValue(input)}`;

const attemptNote = ({ attempt }: { readonly attempt: number }): string =>
  attempt > 1 ? ` (attempt ${attempt})` : '';

const endings: { readonly [Ending in ToolEnding]: readonly [Style, note: string] } = {
  done: ['good', ''],
  settled: ['good', 'settled by a person · '],
  failed: ['bad', 'failed · '],
  denied: ['warn', 'denied · '],
  malformed: ['warn', 'no valid call · '],
  notRun: ['dim', 'not run · '],
  stopped: ['warn', 'stopped · '],
  unknown: ['warn', 'outcome unknown · '],
};

function settledLines(
  { name, ending, result }: Extract<RunEvent, { type: 'tool.settled' }>,
  paint: Paint,
): readonly string[] {
  const [style, note] = endings[ending];
  return indented(`${paint(style, '←')} ${showLine(name)}`, `${note}${showResult(result)}`);
}

/** The text behind its head, further lines below it. */
function indented(head: string, text: string): readonly string[] {
  const [first = '', ...rest] = text.split('\n');
  return [detail(`${head} ${first}`), ...rest.map((line) => detail(`  ${line}`))];
}

const amounts = ({ name, used, max }: { name: string; used: number; max: number }): string =>
  name === 'maxCostMicros'
    ? `${formatUsd(used / 1_000_000)} of ${formatUsd(max / 1_000_000)}`
    : `${formatCount(used)} of ${formatCount(max)}`;

/** Where the run ended, why, and what it took. Its final state was named by an event before. */
export function endLines(result: RunResult, paint: Paint): readonly string[] {
  return [
    ...reasonLines(result, paint),
    detail(paint('dim', spendLine(result.budget.spend, result.costUsd))),
    ...uncertainLines(result, paint),
  ];
}

/** A run that was left waiting can't be taken up again from here, so what waits is told instead. */
function reasonLines({ status, error, reason }: RunResult, paint: Paint): readonly string[] {
  if (status === 'suspended') return [];
  if (status === 'completed') return [detail(showLine(reason))];
  const text = error ? showFailure(error) : showProse(reason);
  return text.split('\n').map((line) => detail(paint(status === 'failed' ? 'bad' : 'warn', line)));
}

export const spendLine = (spend: Spend, costUsd: number | null): string =>
  [
    countOf(spend.turns, 'model call'),
    countOf(spend.toolCalls, 'tool call'),
    `${formatCount(spend.inputTokens)} tokens in, ${formatCount(spend.outputTokens)} out`,
    costUsd === null ? 'cost not known' : formatUsd(spend.costUsd),
    `${formatMs(spend.activeMs)} active`,
  ].join(' · ');

function uncertainLines({ budget, costUsd }: RunResult, paint: Paint): readonly string[] {
  const { inputTokens, outputTokens, costUsd: uncertainUsd } = budget.uncertain;
  if (inputTokens + outputTokens === 0) return [];
  const cost = costUsd === null ? '' : ` and ${formatUsd(uncertainUsd)}`;
  const text = `of that, up to ${formatCount(inputTokens + outputTokens)} tokens${cost} for calls that were cut off`;
  return [detail(paint('dim', text))];
}

export const countOf = (count: number, what: string): string =>
  `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
