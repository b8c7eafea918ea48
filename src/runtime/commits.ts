import { PawlError } from '../core/errors.ts';
import { describeThrown } from '../core/stringify.ts';
import type { SaveStep, Store } from '../stores/store.ts';

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
  /** The run as it is now. Never called inside a transition. */
  readonly step: () => Omit<SaveStep, 'runId' | 'follows'>;
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
      const steps = runs.map((run) => ({
        ...run.step(),
        runId: run.runId,
        follows: run.saveVersion,
      }));
      const refused = new Set(await store.save(steps));
      runs.forEach((run, index) => {
        if (refused.has(run.runId)) fail(run, conflict(run));
        else succeed(run, marks[index] ?? 0);
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

function succeed(run: Run, mark: number): void {
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

const conflict = ({ runId, saveVersion }: Run): PawlError =>
  saveVersion === 0
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
    `Run "${runId}" could not be saved: ${describeThrown(error)}. It was stopped; what was saved before can be resumed.`,
    { cause: error },
  );
