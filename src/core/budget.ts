import { invalidInput } from './errors.ts';
import type { ErrorCode } from './failure.ts';
import { isJsonObject } from './json.ts';
import { microsOfUsd, usdOfMicros } from './price.ts';

/**
 * Hard limits of one run. A limit that is left out does not exist, but for the three with a default.
 *
 * Each is a ceiling: what a call could take at worst is reserved before it starts, and a call that does not fit is
 * not made.
 */
export interface Budget {
  /** Most model calls. Default 50. */
  readonly maxTurns?: number;
  /** Most input tokens, cached ones included. */
  readonly maxInputTokens?: number;
  readonly maxOutputTokens?: number;
  /** Most input and output tokens together. */
  readonly maxTotalTokens?: number;
  /** Needs a model with a known price. */
  readonly maxCostUsd?: number;
  /** Longest time in model calls and tools, in milliseconds. Waiting for people and for a retry is free. */
  readonly maxActiveMs?: number;
  /** Most tool calls that may run. */
  readonly maxToolCalls?: number;
  /**
   * The n-th identical call in a row is not run and ends the run; so does the n-th round of two calls that take
   * turns. Default 3; Infinity turns it off. Tools declared `repeatable` do not count.
   */
  readonly maxRepeats?: number;
  /** Replies in a row that hold nothing usable: only unknown tools, unreadable or invalid arguments. Default 3. */
  readonly maxMalformedReplies?: number;
  /**
   * The run meets its limit at this moment, wherever it is, also while it waits for people and after a restart. A Date, or
   * milliseconds since the epoch; Infinity for none. One that has passed ends the run before its next model call.
   */
  readonly deadlineAt?: Date | number;
}

/** A budget in the machine's terms: integers, micro-dollars, null for "no limit" (JSON has no Infinity). */
export interface Limits {
  readonly maxTurns: number | null;
  readonly maxInputTokens: number | null;
  readonly maxOutputTokens: number | null;
  readonly maxTotalTokens: number | null;
  readonly maxCostMicros: number | null;
  readonly maxActiveMs: number | null;
  readonly maxToolCalls: number | null;
  readonly maxRepeats: number | null;
  readonly maxMalformedReplies: number | null;
  /** In ms since the epoch. */
  readonly deadlineAt: number | null;
}

/** What stopped a run: one of its limits, or one of the model's own. */
export type LimitName =
  | keyof Limits
  | 'maxContinuations'
  | 'maxPauses'
  | 'maxReplyTokens'
  | 'contextWindow';

/** A limit that was reached: how much was used or asked for, and how much there is. Of `deadlineAt`, both are times. */
export interface LimitReached {
  readonly name: LimitName;
  readonly used: number;
  readonly max: number;
}

const defaultBudget = { maxTurns: 50, maxRepeats: 3, maxMalformedReplies: 3 } as const;

const budgetFields: readonly (keyof Budget)[] = [
  'maxTurns',
  'maxInputTokens',
  'maxOutputTokens',
  'maxTotalTokens',
  'maxCostUsd',
  'maxActiveMs',
  'maxToolCalls',
  'maxRepeats',
  'maxMalformedReplies',
  'deadlineAt',
];
/** No Date goes further. */
const latestMs = 8_640_000_000_000_000;

/** The limits that a budget names, and no others. @throws PawlError `invalid_input` */
export function namedLimits(budget: Budget, field = 'budget'): Partial<Limits> {
  const given: unknown = budget;
  if (!isJsonObject(given)) throw invalidInput(field, 'an object of limits', given);
  for (const [name, value] of Object.entries(budget)) checkField(field, name, value);
  const { maxCostUsd, deadlineAt, ...rest } = budget;
  const named = {
    ...rest,
    ...(deadlineAt !== undefined && { deadlineAt: Number(deadlineAt) }),
    ...(maxCostUsd !== undefined && { maxCostMicros: toMicros(maxCostUsd) }),
  };
  return Object.fromEntries(
    Object.entries(named)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, value === Number.POSITIVE_INFINITY ? null : value]),
  );
}

const toMicros = (usd: number): number =>
  usd === Number.POSITIVE_INFINITY ? usd : microsOfUsd(usd);

function checkField(field: string, name: string, value: unknown): void {
  if (!(budgetFields as readonly string[]).includes(name)) {
    throw invalidInput(`${field}.${name}`, `one of ${budgetFields.join(', ')}`, name);
  }
  if (value === undefined) return;
  if (name === 'deadlineAt') checkTime(`${field}.${name}`, value);
  else checkAmount(`${field}.${name}`, name, value);
}

function checkAmount(field: string, name: string, value: unknown): void {
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0) {
    throw invalidInput(field, 'a number from 0 up', value);
  }
  if (name !== 'maxCostUsd' && name !== 'maxActiveMs' && !isWhole(value)) {
    throw invalidInput(field, 'a whole number or Infinity', value);
  }
}

function checkTime(field: string, value: unknown): void {
  const ms = value instanceof Date ? value.getTime() : value;
  const isTime = typeof ms === 'number' && ms >= 0 && ms <= latestMs;
  if (isTime || ms === Number.POSITIVE_INFINITY) return;
  const got = value instanceof Date ? 'an invalid Date' : value;
  throw invalidInput(field, 'a Date, milliseconds since the epoch, or Infinity', got);
}

const isWhole = (value: number): boolean =>
  value === Number.POSITIVE_INFINITY || Number.isSafeInteger(value);

/** All limits of a new run. @throws PawlError `invalid_input` */
export const limitsOf = (budget: Budget): Limits => ({
  maxInputTokens: null,
  maxOutputTokens: null,
  maxTotalTokens: null,
  maxCostMicros: null,
  maxActiveMs: null,
  maxToolCalls: null,
  deadlineAt: null,
  ...defaultBudget,
  ...namedLimits(budget),
});

/** The error code that a reached limit ends a run with. */
export function codeOfLimit(name: LimitName): ErrorCode {
  switch (name) {
    case 'maxReplyTokens':
    case 'maxContinuations':
      return 'output_truncated';
    case 'maxPauses':
      return 'pauses_exceeded';
    case 'contextWindow':
      return 'context_exceeded';
    case 'maxRepeats':
      return 'loop_detected';
    case 'maxActiveMs':
    case 'deadlineAt':
      return 'run_timeout';
    default:
      return 'budget_exceeded';
  }
}

/** The limit as people set it: costs are counted in micro-dollars and set in dollars. */
export const optionOfLimit = (name: LimitName): string =>
  name === 'maxCostMicros' ? 'maxCostUsd' : name;

/** One sentence for people: which limit, with its numbers. */
export const describeLimit = (limit: LimitReached): string =>
  `The limit ${optionOfLimit(limit.name)} was reached: ${amountsOf(limit)}.`;

function amountsOf({ name, used, max }: LimitReached): string {
  switch (name) {
    case 'maxTurns':
      return `${Math.min(used, max)} of ${max} model calls were made`;
    case 'maxToolCalls':
      return `${Math.min(used, max)} of ${max} tool calls were made`;
    case 'maxActiveMs':
      return `${used} of ${max} ms were used`;
    case 'maxRepeats':
      return `${used} of ${max} identical calls in a row`;
    case 'maxMalformedReplies':
      return `${used} of ${max} malformed replies in a row`;
    case 'maxContinuations':
      return `${used} of ${max} continuations of one reply`;
    case 'maxPauses':
      return `the model paused its turn again after ${used} of ${max} continuations`;
    case 'deadlineAt':
      return `the deadline was ${showTime(max)}, and it was ${showTime(used)}`;
    case 'maxReplyTokens':
      return `${used} of ${max} tokens in one reply`;
    case 'maxCostMicros':
      return takenOf(`$${usdOfMicros(used)} of $${usdOfMicros(max)}`, used > max);
    default:
      return takenOf(`${used} of ${max} ${tokensOf[name]}`, used > max);
  }
}

/** As people read it: UTC, in ISO 8601. */
export const showTime = (ms: number): string =>
  ms >= 0 && ms <= latestMs ? new Date(ms).toISOString() : `${ms} ms since the epoch`;

/** What is taken, or would be at worst by the call that was not made. */
const takenOf = (amounts: string, isForecast: boolean): string =>
  isForecast ? `another call could come to ${amounts}` : amounts;

const tokensOf = {
  maxInputTokens: 'input tokens',
  maxOutputTokens: 'output tokens',
  maxTotalTokens: 'tokens',
  contextWindow: 'tokens in the context window',
} as const;
