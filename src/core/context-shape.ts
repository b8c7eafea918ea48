/**
 * Is it the context of a run? A snapshot may come from a file, and a run that goes on from a damaged one could spend what
 * it may not. Whoever can write snapshots is trusted with what they say, so this looks at shapes, not at meaning.
 */

import { blockProblem, messageProblem, type ShapeProblem } from './block-shape.ts';
import type { LimitName } from './budget.ts';
import { isJsonObject } from './json.ts';
import { maxRate } from './price.ts';
import { type StopReason, stopReasons } from './reply.ts';
import type { RunContext, RunOutput } from './run-context.ts';
import {
  type Check,
  fieldPath,
  isAll,
  isBoolean,
  isCount,
  isEither,
  isJson,
  isListOf,
  isOneOf,
  isShaped,
  isText,
  isWhole,
  leaf,
  orAbsent,
  orNull,
  ownField,
  type Shape,
} from './shape.ts';
import type { ToolEnding } from './tool-call.ts';

type Settings = RunContext['settings'];
type Ledger = RunContext['ledger'];
type Call = RunContext['calls'][number];
type Limit = NonNullable<RunContext['limit']>;

const isRate = leaf(
  `a number from 0 to ${maxRate}`,
  (value) => typeof value === 'number' && value >= 0 && value <= maxRate,
);

const rates = {
  input: isRate,
  output: isRate,
  cacheRead: orAbsent(isRate),
  cacheWrite: orAbsent(isRate),
  cacheWriteLong: orAbsent(isRate),
};

const isPrice = isShaped<NonNullable<Settings['models'][number]['price']>>({
  ...rates,
  tiers: orAbsent(isListOf(isShaped({ ...rates, aboveInputTokens: isCount }))),
});

const isModel = isShaped<Settings['models'][number]>({
  id: isText,
  provider: isText,
  price: orNull(isPrice),
  maxOutputTokens: isWhole,
  minOutputTokens: isWhole,
  contextWindow: orNull(isWhole),
});

export const isEffect = isOneOf('read', 'idempotent', 'once');

export const isOnInterrupted = isOneOf('ask', 'report');

const isSettings = isShaped<Settings>({
  runId: isText,
  agent: orNull(isText),
  models: isAll(
    isListOf(isModel),
    leaf('one model at least', (value) => (value as readonly unknown[]).length > 0),
  ),
  tools: isListOf(
    isShaped<Settings['tools'][number]>({
      name: isText,
      effect: isEffect,
      maxCalls: orNull(isWhole),
      maxRetries: isWhole,
      maxCostMicros: isWhole,
      isRepeatable: isBoolean,
      onInterrupted: isOnInterrupted,
    }),
  ),
  prefixTokens: isWhole,
  onLimit: isOneOf('wrapUp', 'ask', 'stop'),
  onTruncated: isOneOf('stop', 'continue'),
  retry: isShaped<Settings['retry']>({
    maxRetries: isWhole,
    baseMs: isCount,
    maxMs: isCount,
    maxRetryAfterMs: isCount,
  }),
  compactAtTokens: orNull(isCount),
});

const isAmount = isShaped<Ledger['spent']>({
  turns: isWhole,
  inputTokens: isWhole,
  outputTokens: isWhole,
  costMicros: isWhole,
});

const isMax = orNull(isCount);
const isWholeMax = orNull(isWhole);

const limitsShape: Shape<Ledger['limits']> = {
  maxTurns: isWholeMax,
  maxInputTokens: isWholeMax,
  maxOutputTokens: isWholeMax,
  maxTotalTokens: isWholeMax,
  maxCostMicros: isWholeMax,
  maxActiveMs: isMax,
  maxToolCalls: isWholeMax,
  maxRepeats: isWholeMax,
  maxMalformedReplies: isWholeMax,
  deadlineAt: isMax,
};

const ownLimits: { readonly [Name in Exclude<LimitName, keyof Ledger['limits']>]: true } = {
  maxContinuations: true,
  maxPauses: true,
  maxReplyTokens: true,
  contextWindow: true,
};

const isLimitName = isOneOf(...Object.keys(limitsShape), ...Object.keys(ownLimits));

const isLedger = isShaped<Ledger>({
  limits: isShaped<Ledger['limits']>(limitsShape),
  spent: isAmount,
  uncertain: isAmount,
  reserved: isListOf(isShaped<Ledger['reserved'][number]>({ id: isText, amount: isAmount })),
  activeMs: isCount,
  clockMs: isCount,
  toolCalls: isListOf(isShaped<Ledger['toolCalls'][number]>({ tool: isText, calls: isWhole })),
});

const isWait = isEither('for', {
  settlement: () => null,
  approval: isShaped<{ readonly argumentsHash: string }>({ argumentsHash: isText }),
});

export const isBlock: Check = (value, path) => {
  const expected = blockProblem(value);
  return expected === null ? null : { path, expected, got: value };
};

const isMessage: Check = (value, path) => {
  const problem = messageProblem(value);
  return problem && { ...problem, path: `${path}${problem.path}` };
};

export const isMessages = isListOf(isMessage);

export const isResult = isAll(
  isBlock,
  isShaped<{ readonly type: unknown }>({ type: isOneOf('tool_result') }),
);

const endings: { readonly [Ending in ToolEnding]: true } = {
  done: true,
  failed: true,
  denied: true,
  malformed: true,
  notRun: true,
  stopped: true,
  settled: true,
  unknown: true,
};

export const isEnding = isOneOf(...Object.keys(endings));

const isCall = isShaped<Call>({
  id: isText,
  name: isText,
  effect: isEffect,
  maxRetries: isWhole,
  waits: orNull(isWait),
  isRunning: isBoolean,
  editedInput: isJson,
  result: orNull(isResult),
  ending: orNull(isEnding),
});

export const isUsage = isShaped<RunContext['usage']>({
  inputTokens: isWhole,
  outputTokens: isWhole,
  cacheReadTokens: isWhole,
  cacheWriteTokens: isWhole,
  cacheWriteLongTokens: isWhole,
});

export const isPlan = isShaped<RunContext['plan']>({
  attempt: isWhole,
  model: isWhole,
  streams: isBoolean,
  retryAt: isWhole,
});

export const isStopReason = isOneOf(...stopReasons, 'unknown' satisfies StopReason);

export const isFailure = isShaped<NonNullable<RunContext['failure']>>({
  code: isText,
  message: isText,
});

const isRefusal = isShaped<NonNullable<RunContext['refusal']>>({
  text: isText,
  category: orNull(isText),
  explanation: orNull(isText),
});

const isLimit = isShaped<Limit>({ name: isLimitName, used: isCount, max: isCount });

const isEndStatus = isOneOf('completed', 'exhausted', 'refused', 'failed', 'cancelled');

const contextShape: Shape<RunContext> = {
  schemaVersion: isWhole,
  settings: isSettings,
  messages: isMessages,
  contextTokens: isWhole,
  countedBy: isWhole,
  ledger: isLedger,
  usage: isUsage,
  turn: isWhole,
  plan: isPlan,
  replyCap: isWhole,
  calls: isListOf(isCall),
  cutCalls: isWhole,
  steered: isListOf(isBlock),
  answer: isText,
  stopReason: orNull(isStopReason),
  rawStopReason: orNull(isText),
  container: orNull(isText),
  continuations: isWhole,
  repeats: isWhole,
  malformedReplies: isWhole,
  generation: isWhole,
  compactedLength: isWhole,
  isPauseWanted: isBoolean,
  warned: isListOf(isLimitName),
  limit: orNull(isLimit),
  failure: orNull(isFailure),
  refusal: orNull(isRefusal),
  cancelReason: orNull(isText),
  status: orNull(isEndStatus),
};

export const isOutput = isShaped<RunOutput>({
  status: isEndStatus,
  text: isText,
  limit: orNull(isLimit),
  failure: orNull(isFailure),
  refusal: orNull(isRefusal),
  usage: isUsage,
  turns: isWhole,
});

const isContext = isShaped<RunContext>(contextShape);

/** The first part of a run's context that can't be what it says; null when all can. */
export const contextProblem = (context: unknown): ShapeProblem | null =>
  isContext(context, 'context');

/** The same for a part of a context: fields that are left out are not looked at. */
export function partProblem(part: unknown): ShapeProblem | null {
  if (!isJsonObject(part)) return { path: 'context', expected: 'an object', got: part };
  for (const [field, check] of Object.entries<Check>(contextShape)) {
    const value = ownField(part, field);
    const problem = value === undefined ? null : check(value, fieldPath('context', field));
    if (problem) return problem;
  }
  return null;
}
