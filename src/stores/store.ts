import type { Json } from '../core/json.ts';
import type { EndStatus } from '../core/run-context.ts';

/** A run's machine at one moment, as plain JSON: what `getPersistedSnapshot()` gives. */
export interface RunSnapshot {
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly value: Json;
  readonly context: { readonly [key: string]: unknown };
  readonly [field: string]: unknown;
}

/** One save of one run. */
export interface SaveStep {
  readonly runId: string;
  /** The save version that this step follows: 0 for a new run. A store that holds another one refuses the step. */
  readonly follows: number;
  readonly snapshot: RunSnapshot;
  /** Null while the run goes on. */
  readonly ended: EndStatus | null;
}

export interface SavedRun {
  readonly runId: string;
  /** Counts the saves of this run, from 1. */
  readonly saveVersion: number;
  readonly snapshot: RunSnapshot;
}

/**
 * Keeps the newest snapshot of each run.
 *
 * Every implementation passes each check of `storeContract` in `pawl/testing`.
 */
export interface Store {
  /**
   * Saves all steps in one transaction. Durable once the promise resolves. Resolves to the ids of the runs whose step
   * was refused, because another writer saved them first; the other steps are saved.
   */
  save(steps: readonly SaveStep[]): Promise<readonly string[]>;
  /** The newest save, or null for an unknown run. */
  load(runId: string): Promise<SavedRun | null>;
  /** Releases what the store holds. Safe to call twice. */
  close(): Promise<void>;
}
