/** What the next model call may take, and which limit stands in its way. */
import type { LimitReached, Limits } from './budget.ts';
import { type Amount, add, deadlinePassed, limitPassedBy, limitsNear, nothing } from './ledger.ts';
import { text, tokensAtMost } from './message.ts';
import { costAtMostMicros } from './price.ts';
import { bytesBound, modelOf, type RunContext } from './run-context.ts';

/** From this share of a limit on, the run warns. */
const warnAtShare = 0.8;

/** What the model is told before its last answer. */
export const wrapUpNotice = (limit: LimitReached | null): string =>
  `This run has reached its limit${limit ? ` (${limit.name})` : ''}. Give your final answer now, from what you know; no more tools can be used.`;

const amountOf = (context: RunContext, inputTokens: number, outputTokens: number): Amount => ({
  turns: 1,
  inputTokens,
  outputTokens,
  costMicros: costAtMostMicros(modelOf(context).price, inputTokens, outputTokens),
});

/** Tokens of the next request, at most. A model with another tokenizer can't rely on the last one's count. */
export function inputAtMost(context: RunContext): number {
  const { settings, messages, steered, plan, countedBy } = context;
  const counted = countedBy === plan.model ? context.contextTokens : bytesBound(settings, messages);
  return counted + (steered.length > 0 ? tokensAtMost(steered) : 0);
}

const noticeTokens = (): number =>
  tokensAtMost([text(wrapUpNotice({ name: 'maxMalformedReplies', used: 0, max: 0 }))]);

/** Under `wrapUp`, a final answer must stay affordable: the last call is always held back. */
function heldBack(context: RunContext, inputTokens: number, outputTokens: number): Amount {
  if (context.settings.onLimit !== 'wrapUp') return nothing;
  const input = inputTokens + outputTokens + noticeTokens();
  return amountOf(context, input, modelOf(context).minOutputTokens);
}

const turnWith = (context: RunContext, outputTokens: number): Amount => {
  const input = inputAtMost(context);
  return add(amountOf(context, input, outputTokens), heldBack(context, input, outputTokens));
};

const wrapUpWith = (context: RunContext, outputTokens: number): Amount =>
  amountOf(context, inputAtMost(context) + noticeTokens(), outputTokens);

/** The limit that keeps the run from another model call, or null. */
export function limitReached(context: RunContext): LimitReached | null {
  return (
    deadlinePassed(context.ledger) ??
    countReached('maxRepeats', context.repeats, context) ??
    countReached('maxMalformedReplies', context.malformedReplies, context) ??
    limitPassedBy(context.ledger, turnWith(context, modelOf(context).minOutputTokens))
  );
}

function countReached(
  name: 'maxRepeats' | 'maxMalformedReplies',
  used: number,
  { ledger }: RunContext,
): LimitReached | null {
  const max = ledger.limits[name];
  return max !== null && used >= max && used > 0 ? { name, used, max } : null;
}

/** Not a question of the deadline: the last answer is what comes after it. */
export const canWrapUp = (context: RunContext): boolean =>
  limitPassedBy(context.ledger, wrapUpWith(context, modelOf(context).minOutputTokens)) === null;

/** What a call of this kind reserves: as much output as the budget leaves room for. */
export function reservationFor(context: RunContext, kind: 'turn' | 'wrapUp'): Amount {
  const worst = kind === 'turn' ? turnWith : wrapUpWith;
  const { minOutputTokens, maxOutputTokens } = modelOf(context);
  const fits = (output: number) => limitPassedBy(context.ledger, worst(context, output)) === null;
  const output = largestThat(fits, minOutputTokens, maxOutputTokens);
  const input = inputAtMost(context) + (kind === 'wrapUp' ? noticeTokens() : 0);
  return amountOf(context, input, output);
}

/** By bisection: a larger call never fits where a smaller one does not. */
function largestThat(fits: (value: number) => boolean, least: number, most: number): number {
  if (fits(most)) return most;
  let low = least;
  let high = most;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The limit that cut a reply short: the model's own, or the budget that left no room for more. */
export function cutBy(context: RunContext): LimitReached {
  const { maxOutputTokens } = modelOf(context);
  const own: LimitReached = {
    name: 'maxReplyTokens',
    used: context.replyCap,
    max: maxOutputTokens,
  };
  if (context.replyCap >= maxOutputTokens) return own;
  return limitPassedBy(context.ledger, turnWith(context, maxOutputTokens)) ?? own;
}

/** The run's input filled the model's context window. */
export const windowReached = (context: RunContext): LimitReached => {
  const used = inputAtMost(context);
  return { name: 'contextWindow', used, max: modelOf(context).contextWindow ?? used };
};

/** Limits that are nearly used up and were not warned about yet. */
export const newWarnings = (context: RunContext): readonly LimitReached[] =>
  limitsNear(context.ledger, warnAtShare).filter(({ name }) => !context.warned.includes(name));

/** A deadline that is still to come has to be watched. */
export const deadlineAhead = ({ ledger }: RunContext): number | null =>
  deadlinePassed(ledger) === null ? ledger.limits.deadlineAt : null;

/** A pause is for later, and after the deadline there is none. */
export const mayPause = ({ isPauseWanted, ledger }: RunContext): boolean =>
  isPauseWanted && deadlinePassed(ledger) === null;

/** The loop that a limit ended is forgiven once the limit is raised. */
export const forgiven = (limits: Partial<Limits>): Partial<RunContext> => ({
  ...(limits.maxRepeats !== undefined && { repeats: 0 }),
  ...(limits.maxMalformedReplies !== undefined && { malformedReplies: 0 }),
});
