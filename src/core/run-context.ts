import type { LimitName, LimitReached, Limits } from './budget.ts';
import type { Failure } from './failure.ts';
import { goneToolTokens } from './gone-tools.ts';
import { type Ledger, openLedger, readClock } from './ledger.ts';
import { type ContentBlock, type Message, tokensAtMost } from './message.ts';
import type { Price } from './price.ts';
import { type AttemptPlan, firstAttempt, noUsage, type StopReason, type Usage } from './reply.ts';
import type { RetryPolicy } from './retry.ts';
import type { ToolCall, ToolPolicy } from './tool-call.ts';

/** The form of a run's context. Raised when an older one can no longer be read as it is. */
export const schemaVersion = 1;

/** What the machine has to know of a model. */
export interface ModelSettings {
  readonly id: string;
  readonly provider: string;
  /** Null: not known, so the run may have no cost limit. */
  readonly price: Price | null;
  /** Most output tokens of one reply. */
  readonly maxOutputTokens: number;
  /** A reply may be limited to this, when the budget leaves no room for more. */
  readonly minOutputTokens: number;
  /** Tokens of input and output together; null: not known. */
  readonly contextWindow: number | null;
}

/** What happens at a limit: one last answer without tools, a question to a person, or an end. */
export type OnLimit = 'wrapUp' | 'ask' | 'stop';

/** The run's first row: limits and policies as they were when it began. Bodies are the agent's, today's code. */
export interface RunSettings {
  readonly runId: string;
  readonly agent: string | null;
  /** The first choice, then the fallbacks. */
  readonly models: readonly [ModelSettings, ...ModelSettings[]];
  readonly tools: readonly ToolPolicy[];
  /** Bound on the tokens of system prompt and tool definitions. */
  readonly prefixTokens: number;
  readonly onLimit: OnLimit;
  /** A text that was cut at the output limit: end the run, or ask the model to go on. */
  readonly onTruncated: 'stop' | 'continue';
  readonly retry: RetryPolicy;
  /** Compact the transcript once a request would be larger than this. Null: never by itself. */
  readonly compactAtTokens: number | null;
}

export interface RunInput {
  readonly settings: RunSettings;
  readonly limits: Limits;
  readonly messages: readonly Message[];
  /** When the run begins, in ms since the epoch: a deadline that has passed by then leaves it no model call. */
  readonly atMs?: number;
  /** What a fork takes over from the run that it comes from: what was spent, most of all. */
  readonly carried?: Partial<RunContext>;
}

/** The final states of a run. */
export type EndStatus = 'completed' | 'exhausted' | 'refused' | 'failed' | 'cancelled';

export interface Refusal {
  readonly text: string;
  readonly category: string | null;
  readonly explanation: string | null;
}

/** All that a run knows. Plain JSON, and the only place where its messages are kept. */
export interface RunContext {
  readonly schemaVersion: number;
  readonly settings: RunSettings;
  /** The transcript. It only grows, except through compaction. */
  readonly messages: readonly Message[];
  /** Tokens of the next request, at most: exact for what the last reply counted, a byte bound for what came since. */
  readonly contextTokens: number;
  /** Index of the model whose tokens `contextTokens` counts. */
  readonly countedBy: number;
  readonly ledger: Ledger;
  readonly usage: Usage;
  readonly turn: number;
  /** How the model call of this turn goes on. */
  readonly plan: AttemptPlan;
  /** Most output tokens of the current reply, as reserved: the request's `max_tokens`. */
  readonly replyCap: number;
  readonly calls: readonly ToolCall[];
  /** Tool uses of the last reply that were answered unrun because the reply ended early. */
  readonly cutCalls: number;
  /** What joins the next user message, after the results. */
  readonly steered: readonly ContentBlock[];
  /** Text of the answer so far: one reply, or a reply with its continuations. */
  readonly answer: string;
  readonly stopReason: StopReason | null;
  readonly rawStopReason: string | null;
  readonly container: string | null;
  /** Replies in a row that had to be continued. */
  readonly continuations: number;
  readonly repeats: number;
  readonly malformedReplies: number;
  /** Counts compactions: each begins the transcript anew. */
  readonly generation: number;
  /** Length of the transcript after the last compaction, so that none is tried twice on the same one. */
  readonly compactedLength: number;
  readonly isPauseWanted: boolean;
  /** Limits that were already warned about. */
  readonly warned: readonly LimitName[];
  readonly limit: LimitReached | null;
  readonly failure: Failure | null;
  readonly refusal: Refusal | null;
  readonly cancelReason: string | null;
  readonly status: EndStatus | null;
}

/** What a run ends with; the output of the machine. */
export interface RunOutput {
  readonly status: EndStatus;
  readonly text: string;
  readonly limit: LimitReached | null;
  readonly failure: Failure | null;
  readonly refusal: Refusal | null;
  readonly usage: Usage;
  readonly turns: number;
}

export const startContext = ({
  settings,
  limits,
  messages,
  atMs = 0,
  carried,
}: RunInput): RunContext => ({
  schemaVersion,
  settings,
  messages,
  contextTokens: bytesBound(settings, messages),
  countedBy: 0,
  usage: noUsage,
  turn: 0,
  plan: firstAttempt,
  replyCap: 0,
  calls: [],
  cutCalls: 0,
  steered: [],
  answer: '',
  stopReason: null,
  rawStopReason: null,
  container: null,
  continuations: 0,
  repeats: 0,
  malformedReplies: 0,
  generation: 0,
  compactedLength: 0,
  isPauseWanted: false,
  warned: [],
  limit: null,
  failure: null,
  refusal: null,
  cancelReason: null,
  status: null,
  ...carried,
  ledger: readClock(carried?.ledger ?? openLedger(limits), atMs),
});

export const bytesBound = (settings: RunSettings, messages: readonly Message[]): number =>
  messages.reduce(
    (sum, { content }) => sum + tokensAtMost(content),
    settings.prefixTokens + goneTokens(settings, messages),
  );

/** Most tokens of what stands in for tools that the transcript names, when the run has none. */
export const goneTokens = ({ tools }: RunSettings, messages: readonly Message[]): number =>
  tools.length > 0 ? 0 : goneToolTokens(messages);

export const modelOf = ({ settings, plan }: RunContext): ModelSettings =>
  settings.models[plan.model] ?? settings.models[0];

export const toolNamed = ({ settings }: RunContext, name: string): ToolPolicy | undefined =>
  settings.tools.find((tool) => tool.name === name);

export const outputOf = (context: RunContext): RunOutput => ({
  status: context.status ?? 'failed',
  text: context.answer,
  limit: context.limit,
  failure: context.failure,
  refusal: context.refusal,
  usage: context.usage,
  turns: context.turn,
});
