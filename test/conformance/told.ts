/** What the process in which the runs are tells the play while it goes on. Plain JSON, so that it may cross a pipe. */
import type { RunEvent, RunResult } from 'pawl';

export type Told =
  /** Under the names that `wait.for` uses. */
  | { readonly told: 'happened'; readonly name: string }
  /** Before the tool does anything. */
  | { readonly told: 'executed'; readonly id: string; readonly input: unknown }
  /** The predicate of an approval was called. */
  | { readonly told: 'asked' }
  | {
      readonly told: 'opened';
      readonly key: string;
      readonly runId: string;
      /** Started by a tool. */
      readonly isChild: boolean;
    }
  | { readonly told: 'event'; readonly key: string; readonly event: RunEvent }
  | { readonly told: 'ended'; readonly key: string; readonly result: Ending }
  /** Events as the agent's listener got them. */
  | { readonly told: 'said'; readonly text: string }
  | {
      readonly told: 'trouble';
      readonly kind: 'unhandledRejections' | 'warnings';
      readonly text: string;
    };

export type Ending = Pick<RunResult, 'reason' | 'error' | 'refusal' | 'usage' | 'costUsd'>;

export type Tell = (told: Told) => void;
