import { PawlError } from '../core/errors.ts';
import { describeThrown } from '../core/stringify.ts';
import type { Refused, Store } from '../stores/store.ts';
import type { StepBuilder } from './step-builder.ts';

/** Saves the changes of one run. */
export interface Saver {
  /** Something changed. Cheap: called in every transition. */
  noteChange(): void;
  /** Resolves once everything noted so far is durable; rejects when it can't be saved. */
  saved(): Promise<void>;
  /** Something was noted that is not durable yet. */
  isBehind(): boolean;
}

export interface SaverOptions {
  readonly runId: string;
  readonly builder: StepBuilder;
  /** Save version that is already stored: 0 for a new run. */
  readonly saveVersion: number;
  /** The run can't be saved any more, and must do nothing any more. */
  readonly onFailed: (error: PawlError) => void;
}

interface Run extends SaverOptions {
  saveVersion: number;
  noted: number;
  durable: number;
  failure: PawlError | null;
  waiting: { readonly upTo: number; readonly settle: () => void }[];
}

/**
 * One commit for all runs that changed in a turn of the event loop. Effects wait for it, so nothing acts before it is
 * saved; and since it never runs inside a transition, every snapshot it takes can be resumed.
 */
export function groupCommit(store: Store): { saverFor(options: SaverOptions): Saver } {
  const changed = new Set<Run>();
  let isScheduled = false;

  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => void flush());
  };

  async function flush(): Promise<void> {
    // A run that failed was stopped: its snapshot would be that of a stopped actor, which nobody can resume.
    const runs = [...changed].filter(({ failure }) => failure === null);
    changed.clear();
    const marks = runs.map(({ noted }) => noted);
    try {
      const built = runs.map((run) => run.builder.next());
      const steps = runs.map(({ runId, saveVersion }, index) => ({
        ...(built[index] as (typeof built)[number]).step,
        runId,
        follows: saveVersion,
      }));
      const refused = new Map((await store.save(steps)).map((entry) => [entry.runId, entry]));
      runs.forEach((run, index) => {
        const refusal = refused.get(run.runId);
        if (refusal) fail(run, conflict(run, refusal));
        else succeed(run, marks[index] ?? 0, built[index]?.saved);
      });
    } catch (error) {
      for (const run of runs) fail(run, notSaved(run, error));
    }
    isScheduled = false;
    if (changed.size > 0) schedule();
  }

  return {
    saverFor(options) {
      const run: Run = { ...options, noted: 0, durable: 0, failure: null, waiting: [] };
      return {
        noteChange() {
          run.noted += 1;
          if (run.failure) return;
          changed.add(run);
          schedule();
        },
        saved: () =>
          new Promise((resolve, reject) => {
            const settle = (): void => (run.failure ? reject(run.failure) : resolve());
            if (run.failure || run.durable >= run.noted) settle();
            else run.waiting.push({ upTo: run.noted, settle });
          }),
        isBehind: () => run.durable < run.noted,
      };
    },
  };
}

function succeed(run: Run, mark: number, noteSaved: (() => void) | undefined): void {
  noteSaved?.();
  run.saveVersion += 1;
  run.durable = mark;
  const ready = run.waiting.filter(({ upTo }) => upTo <= mark);
  run.waiting = run.waiting.filter(({ upTo }) => upTo > mark);
  for (const { settle } of ready) settle();
}

function fail(run: Run, failure: PawlError): void {
  run.failure = failure;
  const { waiting } = run;
  run.waiting = [];
  run.onFailed(failure);
  for (const { settle } of waiting) settle();
}

const conflict = ({ runId, saveVersion }: Run, { why }: Refused): PawlError =>
  why === 'exists'
    ? new PawlError(
        'run_exists',
        `There is a run "${runId}" already. Choose another id, or resume it.`,
      )
    : new PawlError(
        'stale_snapshot',
        `Run "${runId}" was saved by another process after version ${saveVersion}. Nothing of this one was kept; load it again.`,
      );

const notSaved = ({ runId }: Run, error: unknown): PawlError =>
  new PawlError(
    'store_failed',
    `Run "${runId}" could not be saved: ${withFullStop(describeThrown(error))} It was stopped; what was saved before can be resumed.`,
    { cause: error },
  );

const withFullStop = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
