import type { Json } from '../core/json.ts';
import type { ContentBlock } from '../core/message.ts';
import type { OnInterrupted, ToolEffect } from '../core/tool-call.ts';

/** What a tool's body is told beside its input. */
export interface ToolContext {
  /** Fires when the call is stopped: cancel, timeout, a limit. The result of a stopped call is dropped. */
  readonly signal: AbortSignal;
  /** Names this call for good: the same in every attempt, also after a crash. `runId/turn/callId`. */
  readonly idempotencyKey: string;
  readonly runId: string;
  /** Id of the tool use, unique in the run. */
  readonly callId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Tells whoever watches the run how far the call is. Any JSON-like value. */
  readonly progress: (value: unknown) => void;
}

/** What a tool's probe is told beside the idempotency key of the call. */
export interface ProbeContext<Input = unknown> {
  /** Fires when the call is stopped, and when the probe has taken longer than the tool's `timeoutMs`. */
  readonly signal: AbortSignal;
  /** The arguments that the call ran with. */
  readonly input: Input;
  readonly runId: string;
  readonly callId: string;
  /** The attempt that was lost. */
  readonly attempt: number;
}

/**
 * What a probe found: the call happened, and this is its result (what `run` would have returned); it did not happen, so it
 * may run now; or nobody can tell. Anything else counts as `unknown`, so does a throw.
 */
export type ProbeAnswer =
  | { readonly happened: true; readonly result: unknown }
  | { readonly happened: false }
  | { readonly happened: 'unknown' };

/** The parsed input, or what is wrong with it, in words for the model. */
export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** A tool: what the model is told, and the function that carries it out, in one piece. Made by `defineTool`. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input; its type is `object`. */
  readonly inputSchema: { readonly [key: string]: Json };
  readonly effect: ToolEffect;
  /** What becomes of an interrupted call that no probe knows of. Only asked of `once`. */
  readonly onInterrupted: OnInterrupted;
  /** Longest time of one attempt, in ms. Races the tool: one that does not listen is answered in time all the same. */
  readonly timeoutMs: number;
  /** Most calls in one run. Null: no limit of its own. */
  readonly maxCalls: number | null;
  /** Further attempts after one that threw or timed out. */
  readonly maxRetries: number;
  /** Most calls of this tool at once, in one run. */
  readonly concurrency: number;
  /**
   * Most that one call spends itself, with all its attempts, in US dollars. Reserved before the call. Charged by the
   * `costUsd` of its result; in full when an attempt failed or was stopped, since what it spent is not known.
   */
  readonly maxCostUsd: number;
  /** Calling it again with the same input is not a loop. */
  readonly isRepeatable: boolean;
  /** Most characters of a result; a longer one keeps its head and its tail. Null: the agent's limit. */
  readonly maxOutputChars: number | null;
  readonly parse: (input: Json) => Promise<Parsed>;
  readonly run: (input: unknown, context: ToolContext) => unknown;
  /** Finds out whether a lost call happened. Null: there is no way to know. Only asked of `once`. */
  readonly probe: ((idempotencyKey: string, context: ProbeContext) => unknown) | null;
}

const brand = Symbol.for('pawl.tool-output');

/** What a tool returns when plain text or JSON does not say it. Made by `toolOutput`. */
export interface ToolOutput {
  readonly [brand]: true;
  readonly content: string | readonly ContentBlock[];
  readonly isError: boolean;
  readonly costUsd: number;
}

/**
 * A result with content blocks (images, say), one that is an error without a throw, or one that cost money.
 *
 * Defaults: no error, no cost.
 */
export const toolOutput = (output: {
  readonly content: string | readonly ContentBlock[];
  readonly isError?: boolean;
  readonly costUsd?: number;
}): ToolOutput => ({ [brand]: true, isError: false, costUsd: 0, ...output });

export const isToolOutput = (value: unknown): value is ToolOutput =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, brand);
