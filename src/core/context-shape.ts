/**
 * Is it the context of a run? A snapshot may come from a file, and a run that goes on from a damaged one could spend what
 * it may not. Whoever can write snapshots is trusted with what they say, so this looks at shapes, not at meaning.
 */
import { blockProblem, messageProblem } from './block-shape.ts';
import { isJsonObject } from './json.ts';
import { stopReasons } from './reply.ts';
import type { RunContext } from './run-context.ts';

type Holds = (value: unknown) => boolean;
type Shape<Type> = { readonly [Field in keyof Type]-?: Holds };

const isText: Holds = (value) => typeof value === 'string';
const isBoolean: Holds = (value) => typeof value === 'boolean';
const isCount: Holds = (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const isOneOf =
  (...known: readonly unknown[]): Holds =>
  (value) =>
    known.includes(value);
const orNull =
  (holds: Holds): Holds =>
  (value) =>
    value === null || holds(value);
const isListOf =
  (holds: Holds): Holds =>
  (value) =>
    Array.isArray(value) && value.every(holds);
const isShaped =
  <Type>(shape: Shape<Type>): Holds =>
  (value) =>
    isJsonObject(value) &&
    Object.entries<Holds>(shape).every(([field, holds]) =>
      holds(Object.hasOwn(value, field) ? value[field] : undefined),
    );

type Settings = RunContext['settings'];
type Ledger = RunContext['ledger'];
type Call = RunContext['calls'][number];
type Limit = NonNullable<RunContext['limit']>;

const isModel = isShaped<Settings['models'][number]>({
  id: isText,
  provider: isText,
  price: orNull(isJsonObject),
  maxOutputTokens: isCount,
  minOutputTokens: isCount,
  contextWindow: orNull(isCount),
});

const isEffect = isOneOf('read', 'idempotent', 'once');

const isSettings = isShaped<Settings>({
  runId: isText,
  agent: orNull(isText),
  models: (value) => isListOf(isModel)(value) && (value as readonly unknown[]).length > 0,
  tools: isListOf(
    isShaped<Settings['tools'][number]>({
      name: isText,
      effect: isEffect,
      maxCalls: orNull(isCount),
      maxRetries: isCount,
      maxCostMicros: isCount,
      isRepeatable: isBoolean,
    }),
  ),
  prefixTokens: isCount,
  onLimit: isOneOf('wrapUp', 'ask', 'stop'),
  onTruncated: isOneOf('stop', 'continue'),
  retry: isShaped<Settings['retry']>({
    maxRetries: isCount,
    baseMs: isCount,
    maxMs: isCount,
    maxRetryAfterMs: isCount,
  }),
  compactAtTokens: orNull(isCount),
});

const isAmount = isShaped<Ledger['spent']>({
  turns: isCount,
  inputTokens: isCount,
  outputTokens: isCount,
  costMicros: isCount,
});

const isMax = orNull(isCount);

const isLedger = isShaped<Ledger>({
  limits: isShaped<Ledger['limits']>({
    maxTurns: isMax,
    maxInputTokens: isMax,
    maxOutputTokens: isMax,
    maxTotalTokens: isMax,
    maxCostMicros: isMax,
    maxActiveMs: isMax,
    maxToolCalls: isMax,
    maxRepeats: isMax,
    maxMalformedReplies: isMax,
  }),
  spent: isAmount,
  uncertain: isAmount,
  reserved: isListOf(isShaped<Ledger['reserved'][number]>({ id: isText, amount: isAmount })),
  activeMs: isCount,
  toolCalls: isListOf(isShaped<Ledger['toolCalls'][number]>({ tool: isText, calls: isCount })),
});

const isWait: Holds = (value) =>
  isJsonObject(value) &&
  (value.for === 'settlement' || (value.for === 'approval' && isText(value.argumentsHash)));

const isBlock: Holds = (value) => blockProblem(value) === null;

const isCall = isShaped<Call>({
  id: isText,
  name: isText,
  effect: isEffect,
  maxRetries: isCount,
  waits: orNull(isWait),
  isRunning: isBoolean,
  editedInput: (value) => value !== undefined,
  result: orNull(isBlock),
  ending: orNull(isText),
});

const contextShape: Shape<RunContext> = {
  schemaVersion: isCount,
  settings: isSettings,
  messages: isListOf((value) => messageProblem(value) === null),
  contextTokens: isCount,
  countedBy: isCount,
  ledger: isLedger,
  usage: isShaped<RunContext['usage']>({
    inputTokens: isCount,
    outputTokens: isCount,
    cacheReadTokens: isCount,
    cacheWriteTokens: isCount,
    cacheWriteLongTokens: isCount,
  }),
  turn: isCount,
  plan: isShaped<RunContext['plan']>({
    attempt: isCount,
    model: isCount,
    streams: isBoolean,
    retryAt: isCount,
  }),
  replyCap: isCount,
  calls: isListOf(isCall),
  cutCalls: isCount,
  steered: isListOf(isBlock),
  answer: isText,
  stopReason: isOneOf(...stopReasons, 'unknown', null),
  rawStopReason: orNull(isText),
  container: orNull(isText),
  continuations: isCount,
  repeats: isCount,
  malformedReplies: isCount,
  generation: isCount,
  compactedLength: isCount,
  isPauseWanted: isBoolean,
  warned: isListOf(isText),
  limit: orNull(isShaped<Limit>({ name: isText, used: isCount, max: isCount })),
  failure: orNull(isShaped<NonNullable<RunContext['failure']>>({ code: isText, message: isText })),
  refusal: orNull(
    isShaped<NonNullable<RunContext['refusal']>>({
      text: isText,
      category: orNull(isText),
      explanation: orNull(isText),
    }),
  ),
  cancelReason: orNull(isText),
  status: isOneOf('completed', 'exhausted', 'refused', 'failed', 'cancelled', null),
};

/** The first field of a run's context that can't be what it says; null when all can. */
export function contextProblem(
  context: unknown,
): { readonly expected: string; readonly got: string } | null {
  if (!isJsonObject(context)) return { expected: 'fields', got: typeof context };
  for (const [field, holds] of Object.entries<Holds>(contextShape)) {
    const value = Object.hasOwn(context, field) ? context[field] : undefined;
    if (!holds(value)) {
      return { expected: `a whole "${field}"`, got: value === undefined ? 'none' : 'a broken one' };
    }
  }
  return null;
}
