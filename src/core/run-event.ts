import type { LimitReached } from './budget.ts';
import type { Failure } from './failure.ts';
import type { Json } from './json.ts';
import type { ToolResult } from './message.ts';
import type { StopReason, Usage } from './reply.ts';
import type { EndStatus } from './run-context.ts';
import type { ToolEnding } from './tool-call.ts';

/** Which attempt of which model call. A delta of an attempt that failed belongs to no answer: drop it. */
export interface AttemptRef {
  readonly turn: number;
  readonly attempt: number;
  /** Id of the model that is asked. */
  readonly model: string;
}

/**
 * What happens in a run, in order.
 *
 * Each `model.started` has one `model.replied`, `model.failed` or `model.stopped` of the same turn, attempt and model;
 * each tool use has one `tool.settled`, whether or not it started; `run.ended` is the last.
 */
export type RunEvent = { readonly runId: string } & (
  | { readonly type: 'run.started'; readonly isResumed: boolean }
  /** The machine entered a state: `checkBudget`, `callModel`, `routeToolUse`, … */
  | { readonly type: 'state.entered'; readonly state: string }
  | ({ readonly type: 'model.started' } & AttemptRef)
  | ({ readonly type: 'text.delta'; readonly text: string; readonly index: number } & AttemptRef)
  | ({
      readonly type: 'thinking.delta';
      readonly text: string;
      readonly index: number;
    } & AttemptRef)
  | ({
      readonly type: 'tool_input.delta';
      readonly text: string;
      readonly index: number;
    } & AttemptRef)
  | ({
      readonly type: 'model.replied';
      readonly stopReason: StopReason;
      readonly usage: Usage;
      /** Null: the model has no known price. */
      readonly costUsd: number | null;
    } & AttemptRef)
  | ({
      readonly type: 'model.failed';
      readonly failure: Failure;
      readonly isRetryable: boolean;
      /** Until then the next attempt waits, in ms since the epoch, if there is one. */
      readonly retryAt: number;
    } & AttemptRef)
  | ({ readonly type: 'model.stopped' } & AttemptRef)
  | {
      readonly type: 'tool.started';
      readonly callId: string;
      readonly name: string;
      readonly input: Json;
      readonly attempt: number;
    }
  | { readonly type: 'tool.progress'; readonly callId: string; readonly value: unknown }
  | {
      readonly type: 'tool.settled';
      readonly callId: string;
      readonly name: string;
      readonly ending: ToolEnding;
      readonly result: ToolResult;
    }
  | {
      readonly type: 'approval.wanted';
      readonly callId: string;
      readonly name: string;
      readonly input: Json;
      readonly argumentsHash: string;
    }
  /** Nobody knows whether this call acted. A person says so: `run.settle` or `run.retry`. */
  | {
      readonly type: 'settlement.wanted';
      readonly callId: string;
      readonly name: string;
      readonly input: Json;
    }
  | { readonly type: 'budget.wanted'; readonly limit: LimitReached | null }
  /** At least 80 % of a limit is used. Told once per limit. */
  | { readonly type: 'limit.near'; readonly limit: LimitReached }
  | { readonly type: 'run.ended'; readonly status: EndStatus; readonly reason: string }
);

/** `RunEvent` before the run puts its id on it. */
export type UnaddressedEvent = RunEvent extends infer Event
  ? Event extends RunEvent
    ? Omit<Event, 'runId'>
    : never
  : never;
