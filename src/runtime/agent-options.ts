import type { InspectionEvent, Observer } from 'xstate';
import type { Budget } from '../core/budget.ts';
import type { ContentBlock, Message } from '../core/message.ts';
import type { RetryPolicy } from '../core/retry.ts';
import type { OnLimit } from '../core/run-context.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Model, ToolChoice } from '../providers/provider.ts';
import type { Store } from '../stores/store.ts';
import type { Permissions } from '../tools/permissions.ts';
import type { Tool } from '../tools/tool.ts';
import type { Compact } from './agent-parts.ts';

export interface AgentOptions {
  /** The first choice. */
  readonly model: Model;
  /** Asked in this order when a model stays unavailable. */
  readonly fallbackModels?: readonly Model[];
  readonly name?: string;
  readonly system?: string;
  readonly tools?: readonly Tool[];
  /** Default: tools that only read are allowed, all others are asked for. */
  readonly permissions?: Permissions;
  /** Default: 50 turns, 3 repeats, 3 malformed replies; no limit on tokens, cost and time. */
  readonly budget?: Budget;
  /** At a limit: `stop` (default), `wrapUp` for one last answer without tools, `ask` to wait for a raised budget. */
  readonly onLimit?: OnLimit;
  /** A text cut at the output limit ends the run (`stop`, default), or is continued up to five times. */
  readonly onTruncated?: 'stop' | 'continue';
  readonly retry?: Partial<RetryPolicy>;
  /** Most tool calls at once in one run. Default 8. */
  readonly toolConcurrency?: number;
  /** Most characters of a tool result; a longer one keeps its head and its tail. Default 50,000. */
  readonly maxOutputChars?: number;
  /** For the first model call of a run. Default `auto`. */
  readonly toolChoice?: ToolChoice;
  /** Stream replies, so that deltas arrive as the model writes. Default true. */
  readonly streams?: boolean;
  /** How to say a transcript in fewer tokens, and when. Default: never. */
  readonly compaction?: { readonly atTokens: number; readonly compact: Compact };
  /** Default: memory, without the runs that have ended. */
  readonly store?: Store;
  /** Texts that must not appear in events and error texts: keys, passwords. The model and the tools still see them. */
  readonly secrets?: readonly string[];
  /**
   * Sees the events of all runs. What it throws, or rejects with, becomes a warning. A run that plain `createActor` or
   * `invoke` started tells the same, but for two things: one that ends before its first step (its budget allows no
   * model call) tells nothing, and the end of one that was stopped, or whose actor broke, is not told.
   */
  readonly onEvent?: (event: RunEvent) => void;
}

export interface InputOptions {
  /** Earlier messages, as `result.messages` gives them. */
  readonly history?: readonly Message[];
  /** Default: a new unique id. */
  readonly runId?: string;
  /** Replaces the agent's limits of the same name. */
  readonly budget?: Budget;
  readonly onLimit?: OnLimit;
}

export interface StartOptions extends InputOptions {
  /** For finding the run again: `store.list({ tag })`. */
  readonly tags?: readonly string[];
  /** Cancels the run when it fires. */
  readonly signal?: AbortSignal;
  /** As for XState's `createActor`: sees every actor of the run. */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void);
}

export interface ResumeOptions extends Pick<StartOptions, 'signal' | 'inspect'> {
  /** Raises the limits that it names. Lets a run go on that was exhausted. */
  readonly budget?: Budget;
  /** Lets a run go on that failed, from its last good step. Default false. */
  readonly retry?: boolean;
}

export interface ForkOptions extends Pick<StartOptions, 'signal' | 'inspect' | 'runId' | 'tags'> {
  /** The new run begins as the other stood when this turn began: 1 is the first model call. */
  readonly atTurn: number;
  /** Raises the limits that it names. What was spent until that turn counts. */
  readonly budget?: Budget;
  readonly onLimit?: OnLimit;
  /** Another past: gets the history of that moment, and gives the one to go on from. */
  readonly edit?: (messages: readonly Message[]) => readonly Message[];
}

export type Prompt = string | readonly ContentBlock[];
