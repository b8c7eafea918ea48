import type { JournalEntry } from '../core/journal.ts';
import type { Json } from '../core/json.ts';
import type { Message, ToolResult } from '../core/message.ts';
import type { EndStatus, RunSettings } from '../core/run-context.ts';

/** A run's machine at one moment, as plain JSON: what `getPersistedSnapshot()` gives. */
export interface RunSnapshot {
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly value: Json;
  readonly context: { readonly [key: string]: unknown };
  readonly [field: string]: unknown;
}

/** Who or what a run waits for. `budget`: a raised limit; `resume`: it was paused. */
export interface WaitingFor {
  readonly for: 'approval' | 'settlement' | 'budget' | 'resume';
  readonly callId: string | null;
  readonly tool: string | null;
}

/** What a list of runs shows. */
export interface RunHead {
  readonly status: 'running' | 'waiting' | EndStatus;
  /** The state of its machine: `callModel`, `executeTools.waiting`, … */
  readonly state: string;
  readonly agent: string | null;
  readonly tags: readonly string[];
  readonly turn: number;
  readonly waits: readonly WaitingFor[];
  /** The deadline of a run that has one and goes on, in ms since the epoch: it passes also while nobody has the run. */
  readonly deadlineAtMs?: number;
}

/** One line of a run's story. */
export interface StepRecord {
  /** The save version that this step made. Several transitions of one moment are one step. */
  readonly saveVersion: number;
  readonly atMs: number;
  readonly state: string;
  /** The kind of the last event that led here. */
  readonly cause: string;
  readonly turn: number;
  readonly spend: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly costMicros: number;
    readonly activeMs: number;
  };
  /** What the run heard since the step before, oldest first. Foreign content: what it holds is anybody's. */
  readonly events: readonly JournalEntry[];
}

/** Where a stretch of transcript begins in another run: a fork shares its prefix and copies nothing. */
export interface TranscriptBase {
  readonly runId: string;
  readonly generation: number;
  /** How many messages of it are shared. */
  readonly length: number;
}

/** What a fork at a turn begins with: the run's context as it was, without messages and settings. */
export interface TurnStart {
  readonly turn: number;
  readonly generation: number;
  /** Messages that the transcript had when the turn began. */
  readonly length: number;
  readonly context: { readonly [key: string]: Json };
}

/** One save of one run: what is new since the last one. */
export interface SaveStep {
  readonly runId: string;
  /** The save version that this step follows: 0 for a new run. A store that holds another one refuses the step. */
  readonly follows: number;
  /** With the first save only: what never changes, when it began, and where its transcript comes from. */
  readonly begin: {
    readonly settings: RunSettings;
    readonly base: TranscriptBase | null;
    /** The run and turn that it was forked from. */
    readonly forkOf: { readonly runId: string; readonly turn: number } | null;
    /** Takes the lease in the same transaction. */
    readonly lease: { readonly owner: string; readonly untilMs: number } | null;
  } | null;
  /** Small: the machine's snapshot without messages, settings and settled results. */
  readonly checkpoint: { readonly [key: string]: Json };
  /** Raised by each compaction, which replaces the transcript: its messages then begin at 0 again. */
  readonly generation: number;
  /** Messages from this position on. Earlier ones of this generation are stored already. */
  readonly position: number;
  readonly messages: readonly Message[];
  /** Results of the open batch that are new. They are dropped with `closesBatch`: then a message holds them. */
  readonly results: readonly ToolResult[];
  readonly closesBatch: boolean;
  /** Present when a turn began in this step. */
  readonly turnStart: TurnStart | null;
  readonly record: Omit<StepRecord, 'saveVersion'>;
  readonly head: RunHead;
  /** Posted events that the machine has heard: they are dropped. */
  readonly heard: readonly number[];
}

/** A run as its newest save has it. */
export interface SavedRun {
  readonly runId: string;
  /** Counts the saves of this run, from 1. */
  readonly saveVersion: number;
  readonly settings: RunSettings;
  readonly checkpoint: { readonly [key: string]: Json };
  readonly generation: number;
  readonly messages: readonly Message[];
  readonly results: readonly ToolResult[];
  readonly head: RunHead;
  readonly forkOf: { readonly runId: string; readonly turn: number } | null;
}

/** A run as it was when one of its turns began. */
export interface SavedTurn extends TurnStart {
  readonly settings: RunSettings;
  readonly messages: readonly Message[];
}

export interface RunSummary extends RunHead {
  readonly runId: string;
  readonly saveVersion: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly forkOf: { readonly runId: string; readonly turn: number } | null;
}

export interface RunQuery {
  readonly status?: readonly RunHead['status'][];
  readonly agent?: string;
  readonly tag?: string;
  readonly waitsFor?: WaitingFor['for'];
  readonly updatedBeforeMs?: number;
  /** Most runs of one page. Default 50. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string;
}

/** Why a step was not saved. `stale` also says that the transcript it builds on is gone. */
export type Refused = { readonly runId: string; readonly why: 'exists' | 'stale' };

export type LeaseAnswer =
  | { readonly ok: true }
  | { readonly ok: false; readonly owner: string; readonly untilMs: number };

/** An event for a run, from whoever does not hold it: an approval of another terminal, say. */
export interface Posted {
  readonly runId: string;
  /**
   * Names the event in this store for ever: never given again, also not after it was heard, or after the store was opened
   * anew. A run takes a number that it has heard before for an event that it has heard before.
   */
  readonly number: number;
  readonly event: { readonly [key: string]: Json };
}

/**
 * Keeps runs: their checkpoints, transcripts and stories.
 *
 * Every implementation passes each check of `storeContract` in `pawl/testing`. Ids and contents are foreign text. All
 * methods reject with an `Error` when the store can't do what it promises; a rejected `save` has saved nothing.
 */
export interface Store {
  /**
   * Saves all steps in one transaction, durable once the promise resolves. Resolves to the steps that were refused,
   * because another writer saved that run first; the others are saved.
   */
  save(steps: readonly SaveStep[]): Promise<readonly Refused[]>;
  /** The newest save, or null for an unknown run. */
  load(runId: string): Promise<SavedRun | null>;
  /** What a fork at this turn begins with, or null when there is no such run or turn. */
  loadTurn(runId: string, turn: number): Promise<SavedTurn | null>;
  /** The story of a run, oldest first. */
  steps(runId: string): Promise<readonly StepRecord[]>;
  /**
   * Newest update first; of equal ones, the run that began last. `next` is null on the last page. `damaged` names runs
   * that are stored but can't be read: they are in no page.
   */
  list(query?: RunQuery): Promise<{
    readonly runs: readonly RunSummary[];
    readonly next: string | null;
    readonly damaged: readonly string[];
  }>;
  /**
   * Takes the lease of a run, or renews it, unless another owner holds it and it has not run out at `nowMs`. Politeness,
   * not safety: it spares work. What makes a single writer is `follows`.
   */
  lease(runId: string, owner: string, untilMs: number, nowMs: number): Promise<LeaseAnswer>;
  /** Gives leases back. Ignores those of other owners. */
  release(runIds: readonly string[], owner: string): Promise<void>;
  /** Leaves an event for whoever holds the run, now or later. */
  post(runId: string, event: { readonly [key: string]: Json }): Promise<void>;
  /** Events that were posted to these runs and not heard yet, oldest first. */
  posted(runIds: readonly string[]): Promise<readonly Posted[]>;
  /** Removes a run with all that is its own. Transcripts that forks share stay until the last of them is gone. */
  delete(runId: string): Promise<void>;
  /**
   * Drops, of runs that ended before, the turns that forks could begin with, but for the newest `keepTurns` of each.
   * Resolves to how many turns it dropped.
   */
  prune(options: { readonly endedBeforeMs: number; readonly keepTurns: number }): Promise<number>;
  /** Releases what the store holds. Safe to call twice. */
  close(): Promise<void>;
}
