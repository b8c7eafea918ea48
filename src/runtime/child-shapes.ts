/** What children of a run hold when they are saved: the contexts of its machines, and what came of its effects. */
import type { Compaction } from '../../machines/agent-loop-events.ts';
import type { ModelCallContext } from '../../machines/model-call.ts';
import type { ToolCallContext } from '../../machines/tool-call-events.ts';
import {
  isBlock,
  isEffect,
  isEnding,
  isFailure,
  isMessages,
  isOnInterrupted,
  isPlan,
  isResult,
  isStopReason,
  isUsage,
} from '../core/context-shape.ts';
import type { FailedAttempt, ModelReply } from '../core/reply.ts';
import {
  type Check,
  isBoolean,
  isCount,
  isEither,
  isListOf,
  isOneOf,
  isShaped,
  isText,
  isWhole,
  leaf,
  orAbsent,
  orNull,
  type Shape,
} from '../core/shape.ts';
import type { ToolOutcome, Validation } from '../core/tool-call.ts';

const timed = { activeMs: isCount };

const isReply = isShaped<ModelReply>({
  content: isListOf(isBlock),
  stopReason: isStopReason,
  rawStopReason: orNull(isText),
  usage: isUsage,
  model: isText,
  refusal: orAbsent(
    isShaped<NonNullable<ModelReply['refusal']>>({
      category: orNull(isText),
      explanation: orNull(isText),
    }),
  ),
  container: orAbsent(isText),
});

const failedShape: Shape<Omit<FailedAttempt, 'kind'>> = {
  failure: isFailure,
  isRetryable: isBoolean,
  mayHaveBilled: isBoolean,
  isStreamTrouble: isBoolean,
  retryAt: isWhole,
};

const attemptOutcomes = {
  reply: isShaped({ ...timed, reply: isReply }),
  lost: isShaped(timed),
  failed: isShaped({ ...timed, ...failedShape }),
};

const isAttemptOutcome = isEither('kind', attemptOutcomes);

export const isModelOutcome = isEither('kind', {
  ...attemptOutcomes,
  again: isShaped({ ...timed, plan: isPlan, mayHaveBilled: isBoolean }),
});

export const isToolOutcome = isShaped<ToolOutcome>({
  callId: isText,
  result: isResult,
  ending: isEnding,
  costMicros: orNull(isWhole),
  activeMs: isCount,
});

export const isModelCallContext = isShaped<ModelCallContext>({
  ask: isShaped<ModelCallContext['ask']>({ kind: isOneOf('turn', 'wrapUp'), turn: isWhole }),
  plan: isPlan,
  maxRetries: isWhole,
  models: isWhole,
  outcome: isModelOutcome,
});

export const isToolCallContext = isShaped<ToolCallContext>({
  callId: isText,
  effect: isEffect,
  maxRetries: isWhole,
  onInterrupted: isOnInterrupted,
  attempt: isWhole,
  argumentsHash: orNull(isText),
  isApproved: isBoolean,
  retryAt: isWhole,
  outcome: isToolOutcome,
});

const isRunOutcome = isEither('kind', {
  done: isShaped({ ...timed, result: isResult, costMicros: isWhole }),
  failed: isShaped({ ...timed, result: isResult, retryAt: isWhole }),
  notRun: isShaped({
    ...timed,
    result: isResult,
    ending: isOneOf('denied', 'malformed', 'notRun'),
  }),
  stale: isShaped({ ...timed, argumentsHash: isText }),
  lost: isShaped(timed),
});

const isProbeOutcome = isEither('kind', {
  happened: isShaped({ ...timed, result: isResult, costMicros: orNull(isWhole) }),
  notHappened: isShaped(timed),
  unknown: isShaped(timed),
  lost: isShaped(timed),
});

const isVerdict = isEither('kind', {
  allow: isShaped({}),
  ask: isShaped({ argumentsHash: isText }),
  deny: isShaped({ result: isResult }),
});

const isNothing = leaf('nothing', (value) => value === undefined || value === null);

/** What an effect gave whose end its machine has not heard of yet. */
export const effectOutputs: ReadonlyMap<string, Check> = new Map([
  ['until', isNothing],
  ['slot', isNothing],
  ['attempt', isAttemptOutcome],
  ['compact', isShaped<Compaction>({ messages: orNull(isMessages), activeMs: isCount })],
  ['validateInput', isShaped<Validation>({ problem: orNull(isResult) })],
  ['checkPermission', isVerdict],
  ['runTool', isRunOutcome],
  ['probeTool', isProbeOutcome],
]);
