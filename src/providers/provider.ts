import { PawlError } from '../core/errors.ts';
import type { ErrorCode } from '../core/failure.ts';
import type { Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { Price } from '../core/price.ts';
import type { ModelReply } from '../core/reply.ts';

/** What a model is told of a tool. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: Json };
}

/** Whether the model may, must or must not use tools. */
export type ToolChoice = 'auto' | 'any' | 'none' | { readonly tool: string };

/** One request to a model. `messages` is a valid history: the provider translates it and changes nothing. */
export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly Message[];
  /** The same list in the same order in every request of a run: the prompt cache depends on it. */
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  /** Most output tokens of this reply. */
  readonly maxTokens: number;
  /** True: stream, and tell `onDelta`. False: ask for the reply in one piece. */
  readonly streams: boolean;
  /** Server-side container of an earlier reply of this run. */
  readonly container: string | null;
}

/** A piece of a reply as it arrives. `index` is the content block it belongs to. */
export type Delta =
  | { readonly type: 'text'; readonly index: number; readonly text: string }
  | { readonly type: 'thinking'; readonly index: number; readonly text: string }
  | { readonly type: 'tool_input'; readonly index: number; readonly text: string };

export interface ModelCallOptions {
  readonly signal: AbortSignal;
  /** Called in order, synchronously. Never after the promise has settled. */
  readonly onDelta: (delta: Delta) => void;
}

/**
 * One model of one provider.
 *
 * Contract: `call` makes one request and never retries. It resolves to a complete reply or rejects with a
 * `ProviderError`, or with the signal's reason once that fired. It keeps no state between calls.
 */
export interface Model {
  /** The provider's id of the model. */
  readonly id: string;
  /** The provider's name: `anthropic`, say. */
  readonly provider: string;
  /** Most output tokens of one reply. */
  readonly maxOutputTokens: number;
  /** Least output tokens that a request makes sense with. */
  readonly minOutputTokens: number;
  /** Tokens of input and output together. Null: not known. */
  readonly contextWindow: number | null;
  /** Null: not known. A run with a cost limit then refuses to start. */
  readonly price: Price | null;
  readonly call: (request: ModelRequest, options: ModelCallOptions) => Promise<ModelReply>;
}

/** A model call failed. Says what the machine needs to know to decide about another attempt. */
export class ProviderError extends PawlError {
  override readonly name = 'ProviderError';
  /** The same request may succeed later. */
  readonly isRetryable: boolean;
  /** The provider may have charged for the request: it was accepted, or nobody knows. */
  readonly mayHaveBilled: boolean;
  /** The stream failed before its first event: ask without streaming next time. */
  readonly isStreamTrouble: boolean;
  /** How long the server asks to wait, in ms. */
  readonly retryAfterMs: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly isRetryable: boolean;
      readonly mayHaveBilled: boolean;
      readonly isStreamTrouble?: boolean;
      readonly retryAfterMs?: number | null;
      readonly cause?: unknown;
    },
  ) {
    super(code, message, options.cause === undefined ? {} : { cause: options.cause });
    this.isRetryable = options.isRetryable;
    this.mayHaveBilled = options.mayHaveBilled;
    this.isStreamTrouble = options.isStreamTrouble ?? false;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
