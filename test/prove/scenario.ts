/** One whole story: an agent, what its model and its tools do, and what people do to the run. Plain data. */
import type { Budget, Message, OnInterrupted, OnLimit, RunEvent, ToolEffect } from 'pawl';

/** US dollars per billion tokens: whole numbers, so that a bill has no rounding of its own. */
export interface RatePlan {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly cacheWriteLong: number | null;
}

/** How a model counts tokens: additive over blocks, and at its dearest a token for each byte. */
export interface Tokenizer {
  readonly percentOfBytes: number;
  readonly perBlock: number;
  readonly perMessage: number;
  readonly perRequest: number;
}

export interface ModelPlan {
  readonly rates: RatePlan;
  readonly tiers: readonly (RatePlan & { readonly aboveInputTokens: number })[];
  readonly minOutputTokens: number;
  readonly maxOutputTokens: number;
  readonly tokenizer: Tokenizer;
}

export type Behaviour =
  | 'return'
  | 'returnError'
  | 'returnMuch'
  | 'throw'
  | 'throwAtOnce'
  | 'hang'
  | 'neverSettle'
  | 'slow';

/** What the probe of a `once` tool says of a lost call: the truth, that it does not know, or nothing in time. */
export type ProbePlan = 'truth' | 'unknown' | 'throw' | 'neverSettle';

export interface ToolPlan {
  readonly effect: ToolEffect;
  /** Null: it has none. */
  readonly probe: ProbePlan | null;
  readonly onInterrupted: OnInterrupted;
  readonly maxCalls: number | null;
  readonly maxRetries: number;
  readonly concurrency: number | null;
  readonly maxCostMicros: number;
  readonly isRepeatable: boolean;
  readonly timeoutMs: number;
  /** What its calls do, in the order in which they begin; the last one goes on. */
  readonly behaviours: readonly Behaviour[];
  /** Share of `maxCostMicros` that a call spends, in percent. */
  readonly costPercent: number;
}

export interface UsePlan {
  /** A tool of the agent by its index, or a name. */
  readonly tool: number | string;
  readonly input: 'valid' | 'other' | 'padded' | 'wrong' | 'empty' | 'notJson';
  readonly id: string | null;
}

export interface MessagePlan {
  readonly kind: 'message';
  readonly text: string | null;
  readonly thinking: string | null;
  readonly isUnsigned: boolean;
  readonly uses: readonly UsePlan[];
  /** Null: what fits the content. */
  readonly stopReason: string | null;
  /** Output tokens beyond the content, in percent of what is left. */
  readonly hiddenPercent: number;
  /** False: the reply does not say what it used. */
  readonly reportsUsage: boolean;
  /** How the input tokens are split, in percent: read from the cache, written, and of that for an hour. */
  readonly cachePercents: readonly [read: number, write: number, long: number];
}

export type ReplyPlan =
  | MessagePlan
  | { readonly kind: 'error'; readonly status: number; readonly hasRetryAfter: boolean }
  | { readonly kind: 'cut'; readonly events: number }
  | { readonly kind: 'hang'; readonly events: number }
  | { readonly kind: 'broken' }
  | { readonly kind: 'tooLong' };

/** What a person says to a call that waits. */
export type Decision = 'grant' | 'deny' | 'edit' | 'wrongHash' | 'wrongEdit' | 'twice' | 'never';

export interface Intervention {
  /** After this many events, or after the first event of this kind that is still to come. */
  readonly at: number | RunEvent['type'];
  /** In the listener itself, or right after. */
  readonly isAtOnce: boolean;
  readonly kind: 'cancel' | 'abort' | 'pause' | 'steer' | 'raise' | 'crash' | 'suspend';
}

export interface Scenario {
  readonly budget: Budget;
  /** How long after its start the run has its deadline. Null: it has none. */
  readonly deadlineAfterMs: number | null;
  readonly onLimit: OnLimit;
  readonly onTruncated: 'stop' | 'continue';
  readonly models: readonly [ModelPlan, ...ModelPlan[]];
  readonly maxRetries: number;
  readonly streams: boolean;
  readonly tools: readonly ToolPlan[];
  readonly toolConcurrency: number;
  readonly permissions: 'allow' | 'byEffect' | 'ask' | 'denyFirst' | 'throwing';
  readonly compaction: 'never' | 'summary' | 'same' | 'invalid' | 'throwing';
  readonly history: readonly Message[];
  readonly script: readonly ReplyPlan[];
  readonly decisions: readonly { readonly what: Decision; readonly afterTicks: number }[];
  readonly interventions: readonly Intervention[];
  /** What happens to a model call that hangs. */
  readonly onHang: 'cancel' | 'crash' | 'suspend';
  /** How often a person raises a limit when asked. */
  readonly raises: number;
  /** After a crash, the tools are described differently. */
  readonly changesTools: boolean;
}
