/** The numbers that a guard of the agent loop looks at, for people. */
import { type LimitName, type LimitReached, type Limits, showTime } from '../core/budget.ts';
import { openCalls } from '../core/call-steps.ts';
import { committed, totalToolCalls } from '../core/ledger.ts';
import { usdOfMicros } from '../core/price.ts';
import { maxContinuations } from '../core/routing.ts';
import type { RunContext } from '../core/run-context.ts';
import { canWrapUp, inputAtMost, limitReached } from '../core/spending.ts';
import { countOf } from './show-run.ts';
import { formatCount, formatMs, formatUsd } from './show-text.ts';

/** Empty for a guard that looks at nothing but a flag. */
export const factsOf = (guard: string, context: RunContext): string =>
  facts.get(guard)?.(context) ?? '';

const stopReason = ({ stopReason: reason }: RunContext): string =>
  `stop reason ${reason ?? 'none'}`;

const continued = (context: RunContext): string =>
  `${stopReason(context)}, continued ${context.continuations} of ${maxContinuations} times`;

const compaction = (context: RunContext): string => {
  const { compactAtTokens } = context.settings;
  return compactAtTokens === null
    ? 'never compacts'
    : `next request at most ${formatCount(inputAtMost(context))} tokens, compacts above ${formatCount(compactAtTokens)}`;
};

const atLimit = (context: RunContext): string => {
  const { onLimit } = context.settings;
  if (onLimit !== 'wrapUp') return `at a limit: ${onLimit}`;
  const reached = limitReached(context) === null ? 'no limit is reached' : 'a limit is reached';
  return `at a limit: wrapUp; ${reached}, a last answer ${canWrapUp(context) ? 'fits' : 'does not fit'}`;
};

const waiting = (context: RunContext): string => {
  const open = openCalls(context);
  const waits = open.filter((call) => call.waits !== null).length;
  return `${countOf(open.length, 'open call')}, ${waits} of them for a person`;
};

const facts: ReadonlyMap<string, (context: RunContext) => string> = new Map([
  ['mayWrapUp', atLimit],
  ['mayAskForBudget', atLimit],
  ['isOverBudget', (context) => budgetFacts(context)],
  ['isTooLarge', compaction],
  ['isRefusal', stopReason],
  ['wantsTools', ({ calls }) => countOf(calls.length, 'call')],
  ['mayCompact', (context) => `${stopReason(context)}, ${compaction(context)}`],
  ['isContextFull', stopReason],
  [
    'isTextCut',
    (context) =>
      `${stopReason(context)}, ${countOf(context.cutCalls, 'cut call')}, a cut text: ${context.settings.onTruncated}`,
  ],
  ['mayContinue', continued],
  ['needsContinuation', stopReason],
  ['hasMoreToSay', ({ steered }) => `${countOf(steered.length, 'block')} to say`],
  ['isOnlyWaiting', waiting],
  ['isWorking', waiting],
  [
    'areAllSettled',
    (context) => `${openCalls(context).length} of ${countOf(context.calls.length, 'call')} open`,
  ],
]);

const amounts: readonly (readonly [
  keyof Limits,
  label: string,
  used: (context: RunContext) => number,
])[] = [
  ['maxTurns', 'turns', ({ ledger }) => committed(ledger).turns],
  ['maxInputTokens', 'input tokens', ({ ledger }) => committed(ledger).inputTokens],
  ['maxOutputTokens', 'output tokens', ({ ledger }) => committed(ledger).outputTokens],
  [
    'maxTotalTokens',
    'tokens',
    ({ ledger }) => committed(ledger).inputTokens + committed(ledger).outputTokens,
  ],
  ['maxCostMicros', 'cost', ({ ledger }) => committed(ledger).costMicros],
  ['maxActiveMs', 'time', ({ ledger }) => ledger.activeMs],
  ['maxToolCalls', 'tool calls', ({ ledger }) => totalToolCalls(ledger)],
  ['maxRepeats', 'repeats', ({ repeats }) => repeats],
  ['maxMalformedReplies', 'malformed replies', ({ malformedReplies }) => malformedReplies],
];

/** `turns 2 of 10, cost $0.0012 of $0.50`: what is taken of each limit, and what another call would come to. */
function budgetFacts(context: RunContext): string {
  const { limits } = context.ledger;
  const taken = amounts.flatMap(([name, label, used]) => {
    const max = limits[name];
    return max === null ? [] : [`${label} ${pair(name, used(context), max)}`];
  });
  const limit = limitReached(context);
  const deadline = limits.deadlineAt === null ? [] : [`deadline ${showTime(limits.deadlineAt)}`];
  return [...taken, ...deadline, ...(limit === null ? [] : [passing(limit)])].join(', ');
}

const passing = ({ name, used, max }: LimitReached): string =>
  name === 'deadlineAt'
    ? `deadlineAt has passed: it was ${showTime(used)}`
    : `another call: ${name} ${pair(name, used, max)}`;

function pair(name: LimitName, used: number, max: number): string {
  const show = shows.get(name) ?? formatCount;
  return `${show(used)} of ${show(max)}`;
}

const shows: ReadonlyMap<LimitName, (amount: number) => string> = new Map<
  LimitName,
  (amount: number) => string
>([
  ['maxCostMicros', (micros) => formatUsd(usdOfMicros(micros))],
  ['maxActiveMs', formatMs],
]);
