import type { Budget } from '../core/budget.ts';
import type { Json } from '../core/json.ts';
import type { ContentBlock } from '../core/message.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Wait } from '../core/tool-call.ts';
import type { RunSnapshot } from '../stores/store.ts';
import type { RunResult } from './run-result.ts';

/** A call that waits for a person. */
export interface PendingCall {
  readonly callId: string;
  readonly name: string;
  /** The arguments as the model sent them, as a copy: what an approval without `input` lets run. */
  readonly input: Json;
  readonly waits: Wait;
}

export interface Run {
  readonly id: string;
  /** What happens, in order, from the run's start in this process. Any number of listeners; leaving one stops nothing. */
  readonly events: AsyncIterable<RunEvent>;
  /** How the run ended. Never rejects: a failure is a result too. */
  readonly result: Promise<RunResult>;
  /** The state it is in: `callModel`, `executeTools.waiting`, `completed`, … */
  readonly state: string;
  /** Calls that wait for a person, several at once. */
  readonly pending: readonly PendingCall[];
  /** Resolves when the run has ended, or when nothing moves until a person says something. */
  idle(): Promise<'ended' | 'waiting'>;
  /**
   * Lets a call run, once, with exactly the arguments that were shown, or with `input` in their place. Resolves when the
   * decision is durable. `argumentsHash` is that of the event or of `pending`; default: of what waits now.
   * @throws PawlError `run_finished`, `unknown_tool_use`, `not_awaiting`, `invalid_tool_input`
   */
  approve(
    callId: string,
    options?: { readonly input?: Json; readonly argumentsHash?: string },
  ): Promise<void>;
  /** The model is told of the denial, and the reason. @throws like `approve` */
  deny(callId: string, reason?: string): Promise<void>;
  /** Says what an interrupted call came to. @throws like `approve` */
  settle(
    callId: string,
    outcome: { readonly content: string; readonly isError?: boolean },
  ): Promise<void>;
  /** Lets an interrupted call run again. @throws like `approve` */
  retry(callId: string): Promise<void>;
  /**
   * Adds to the next user message, after the results. It joins the history even when the run ends before that.
   * @throws PawlError `run_finished`, `invalid_input`
   */
  steer(message: string | readonly ContentBlock[]): void;
  /** Pauses before the next model call. What runs goes on to its end. @throws PawlError `run_finished` */
  pause(): void;
  /** Goes on after a pause, or takes back the wish for one. @throws PawlError `run_finished` */
  resume(): void;
  /** New values for the limits that are named. @throws PawlError `run_finished`, `invalid_input` */
  raiseBudget(budget: Budget): void;
  /**
   * Stops everything, answers open calls, and ends as `cancelled`. Does nothing to a run that has ended.
   * @throws PawlError `invalid_input`
   */
  cancel(reason?: string): void;
  /** The run at this moment, as plain JSON and a copy: for `agent.resume`, or `createActor(agent.machine, { snapshot })`. */
  snapshot(): RunSnapshot;
  /** Stops the run as a crash would, after saving it. What was running comes back as of unknown outcome. */
  suspend(): Promise<RunSnapshot>;
}
