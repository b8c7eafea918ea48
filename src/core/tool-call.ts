import type { Json } from './json.ts';
import type { ToolResult } from './message.ts';

/**
 * What a repeat of a tool means, for calls whose outcome is not known (a crash, a restart):
 * `read` changes nothing, `idempotent` may run again with the same key, `once` runs again only when its tool's probe or a
 * person says that it may.
 */
export type ToolEffect = 'read' | 'idempotent' | 'once';

/**
 * What becomes of a `once` call that a crash interrupted, when no probe knows whether it acted: `ask` waits for a person,
 * `report` tells the model that the outcome is unknown.
 */
export type OnInterrupted = 'ask' | 'report';

/** What the machine has to know of a tool. Part of the run's first row: it stays as it was when the run began. */
export interface ToolPolicy {
  readonly name: string;
  readonly effect: ToolEffect;
  /** Most calls in one run. Null: no limit of its own. */
  readonly maxCalls: number | null;
  /** Further attempts after a call that threw. Always 0 for `once`. */
  readonly maxRetries: number;
  /** Most that one call may cost, for tools that spend money themselves (a sub-agent, say). */
  readonly maxCostMicros: number;
  /** Calling it again with the same arguments is not a loop: polling, waiting. */
  readonly isRepeatable: boolean;
  /** Only asked of `once`. */
  readonly onInterrupted: OnInterrupted;
}

/** What a person has to say before a call goes on. An approval names the hash of what was shown. */
export type Wait =
  | { readonly for: 'approval'; readonly argumentsHash: string }
  | { readonly for: 'settlement' };

/** One tool use being carried out. Its input stays in the transcript: children and effects look it up by id. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly effect: ToolEffect;
  readonly maxRetries: number;
  readonly waits: Wait | null;
  /** Its body may have begun, so its outcome is unknown when it is stopped now. */
  readonly isRunning: boolean;
  /** Arguments that a person put in place of the model's. */
  readonly editedInput: Json;
  readonly result: ToolResult | null;
  readonly ending: ToolEnding | null;
}

/**
 * How a tool call ended: its body returned or threw; a policy or a person said no; the request itself was wrong
 * (unknown tool, unreadable or invalid arguments); it never began; it was stopped before its result was known;
 * a person settled what nobody knew; or nobody knows, and the model was told so.
 */
export type ToolEnding =
  | 'done'
  | 'failed'
  | 'denied'
  | 'malformed'
  | 'notRun'
  | 'stopped'
  | 'settled'
  | 'unknown';

/** How a tool call ended. */
export interface ToolOutcome {
  readonly callId: string;
  readonly result: ToolResult;
  readonly ending: ToolEnding;
  /** Null: not known, as an attempt failed or was stopped. The call is then charged as it was reserved. */
  readonly costMicros: number | null;
  readonly activeMs: number;
}

/** What the tool's body came to. `lost`: the process died while it ran. `stale`: not what was approved. `notRun`: a last look
 * before the body found a reason against it. */
export type RunOutcome = { readonly activeMs: number } & (
  | { readonly kind: 'done'; readonly result: ToolResult; readonly costMicros: number }
  | { readonly kind: 'failed'; readonly result: ToolResult; readonly retryAt: number }
  | {
      readonly kind: 'notRun';
      readonly result: ToolResult;
      readonly ending: Extract<ToolEnding, 'denied' | 'malformed' | 'notRun'>;
    }
  | { readonly kind: 'stale'; readonly argumentsHash: string }
  | { readonly kind: 'lost' }
);

/**
 * What a tool's probe says of a call that was lost. `lost` is the probe itself: the process died while it looked.
 * `costMicros` is null where the answer does not say what the call spent.
 */
export type ProbeOutcome = { readonly activeMs: number } & (
  | { readonly kind: 'happened'; readonly result: ToolResult; readonly costMicros: number | null }
  | { readonly kind: 'notHappened' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'lost' }
);

/** What validation says of a call's input. Null: it is fine. */
export interface Validation {
  readonly problem: ToolResult | null;
}

export type Verdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'ask'; readonly argumentsHash: string }
  | { readonly kind: 'deny'; readonly result: ToolResult };
