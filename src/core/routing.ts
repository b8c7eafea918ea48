/** Where a reply leads: questions about the stop reason, each with a plain answer. */
import type { LimitReached } from './budget.ts';
import type { StopReason } from './reply.ts';
import type { RunContext } from './run-context.ts';

/** Most times in a row that one reply is continued: after `pause_turn`, or a cut. */
export const maxContinuations = 5;

/** The reply ended early and is not an answer yet. */
export const isCut = (reason: StopReason | null): boolean =>
  reason === 'pause_turn' || reason === 'compaction' || reason === 'max_tokens';

export const isRefusal = ({ stopReason }: RunContext): boolean => stopReason === 'refusal';

export const isContextFull = ({ stopReason }: RunContext): boolean =>
  stopReason === 'model_context_window_exceeded';

/** A text was cut at the output limit. It is never passed off as an answer. */
export const isTextCut = ({ stopReason, cutCalls, settings }: RunContext): boolean =>
  stopReason === 'max_tokens' && cutCalls === 0 && settings.onTruncated === 'stop';

export const needsContinuation = ({ stopReason }: RunContext): boolean => isCut(stopReason);

export const mayContinue = ({ continuations }: RunContext): boolean =>
  continuations < maxContinuations;

export const hasMoreToSay = ({ steered }: RunContext): boolean => steered.length > 0;

/** A transcript is compacted at most once at each length: a strategy that frees nothing must not go round for ever. */
export const canCompact = ({ settings, messages, compactedLength }: RunContext): boolean =>
  settings.compactAtTokens !== null && messages.length > 2 && messages.length !== compactedLength;

/** A text that is too long for one reply, or a turn of the model's own tools that does not come to its end. */
export const continuationsReached = ({ stopReason, continuations }: RunContext): LimitReached => ({
  name: stopReason === 'max_tokens' ? 'maxContinuations' : 'maxPauses',
  used: continuations,
  max: maxContinuations,
});
