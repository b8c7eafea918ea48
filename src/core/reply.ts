import type { Failure } from './failure.ts';
import type { ContentBlock } from './message.ts';

/**
 * Why the model stopped. An API may know more reasons: what this list lacks is `unknown`, ends the turn like
 * `end_turn`, and keeps the provider's own word as `rawStopReason`.
 */
export const stopReasons = [
  'end_turn',
  'stop_sequence',
  'tool_use',
  'max_tokens',
  'pause_turn',
  'compaction',
  'refusal',
  'model_context_window_exceeded',
] as const;
export type StopReason = (typeof stopReasons)[number] | 'unknown';

/** Tokens of model calls. Input is `inputTokens + cacheReadTokens + cacheWriteTokens`: the three never overlap. */
export interface Usage {
  /** Input tokens neither read from nor written to the prompt cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  /** Input tokens written to the cache, whatever their lifetime. */
  readonly cacheWriteTokens: number;
  /** The part of `cacheWriteTokens` with a lifetime of one hour, which costs more. */
  readonly cacheWriteLongTokens: number;
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
};

export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
  cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  cacheWriteLongTokens: a.cacheWriteLongTokens + b.cacheWriteLongTokens,
});

export const allInputTokens = (usage: Usage): number =>
  usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;

/** One complete answer of a model. */
export interface ModelReply {
  readonly content: readonly ContentBlock[];
  readonly stopReason: StopReason;
  /** The provider's own word for the stop reason. */
  readonly rawStopReason: string | null;
  readonly usage: Usage;
  /** The model that answered, as the provider names it. */
  readonly model: string;
  /** Why the model refused: category and explanation, when the provider says so. */
  readonly refusal?: { readonly category: string | null; readonly explanation: string | null };
  /** Id of a server-side container to send with the next request. */
  readonly container?: string;
}

/** Which attempt a model call makes next, and when. */
export interface AttemptPlan {
  /** 1 for the first attempt with this model. */
  readonly attempt: number;
  /** Index into the run's models: 0 is the first choice, the rest are fallbacks. */
  readonly model: number;
  /** False once a stream failed before its first event: the next attempts ask for the reply in one piece. */
  readonly streams: boolean;
  /** Not before this time, in ms since the epoch. 0: at once. */
  readonly retryAt: number;
}

export const firstAttempt: AttemptPlan = { attempt: 1, model: 0, streams: true, retryAt: 0 };

/** How an attempt failed, and what that means for the next. */
export interface FailedAttempt {
  readonly kind: 'failed';
  readonly failure: Failure;
  /** The same request may succeed later. */
  readonly isRetryable: boolean;
  /** The provider may have charged for it: no answer arrived, or only a part of one. */
  readonly mayHaveBilled: boolean;
  /** The stream broke before its first event, so a request without streaming may fare better. */
  readonly isStreamTrouble: boolean;
  /** When the next attempt may start, in ms since the epoch. */
  readonly retryAt: number;
}

/** What came of one attempt. `lost`: the process died, or was stopped, while it was under way. */
export type AttemptOutcome = { readonly activeMs: number } & (
  | { readonly kind: 'reply'; readonly reply: ModelReply }
  | { readonly kind: 'lost' }
  | FailedAttempt
);

/** What came of a model call. `again`: the next attempt needs a reservation of its own. */
export type ModelOutcome =
  | AttemptOutcome
  | {
      readonly kind: 'again';
      readonly activeMs: number;
      readonly plan: AttemptPlan;
      readonly mayHaveBilled: boolean;
    };
