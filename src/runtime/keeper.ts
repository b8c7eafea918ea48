/** Keeps the leases of the runs of this process, and brings them what other processes posted. */
import { describeThrown } from '../core/stringify.ts';
import type { Posted, Store } from '../stores/store.ts';
import { postedByRun } from './posted-events.ts';

export interface KeptRun {
  readonly runId: string;
  /** Until when the store has this process as the run's owner. */
  readonly leaseUntilMs: number;
  readonly hear: (posted: Posted) => void;
  /** Another process holds the run now. */
  readonly onLost: (owner: string) => void;
  /** Saves the run once more: what another process went on with can't be saved, whoever holds it now. */
  readonly prove: () => Promise<void>;
}

export interface Keeper {
  /** Names this process, and this agent in it. */
  readonly owner: string;
  /** Until when a lease that is taken now holds. */
  leaseUntilMs(): number;
  keep(run: KeptRun): void;
  /** The lease of the run has not run out, which it does while a process sleeps. */
  isHeld(runId: string): boolean;
  /** Takes the lease again. Rejects, or tells the run, when it can't go on in this process. */
  regain(runId: string): Promise<void>;
  /** Gives the lease back. Never rejects: a lease runs out by itself. */
  leave(runId: string): Promise<void>;
}

/** A lease holds for 15 s and is renewed every 5; posted events are looked for twice a second. */
const leaseMs = 15_000;
const renewEveryMs = 5_000;
const lookEveryMs = 500;

export function createKeeper(store: Store, owner: string, now: () => number): Keeper {
  const runs = new Map<string, KeptRun>();
  const untilMs = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  const warnedOf = new WeakSet<KeptRun>();
  let renewAtMs = 0;

  const hear = async (): Promise<void> => {
    const { posted, damaged } = await postedByRun(store, [...runs.keys()]);
    for (const event of posted) runs.get(event.runId)?.hear(event);
    for (const { runId, error } of damaged) warnOnce(runId, error);
  };
  const warnOnce = (runId: string, error: unknown): void => {
    const run = runs.get(runId);
    if (!run || warnedOf.has(run)) return;
    warnedOf.add(run);
    const text = `Run "${runId}" goes on, but hears nothing from other processes: ${describeThrown(error)}`;
    process.emitWarning(text, 'PawlWarning');
  };
  const renew = async (): Promise<void> => {
    if (now() < renewAtMs) return;
    renewAtMs = now() + renewEveryMs;
    // One that can't be renewed must not cost the others their leases.
    for (const run of [...runs.values()]) await take(run).catch(() => {});
  };
  const isHeld = (runId: string): boolean =>
    (untilMs.get(runId) ?? Number.POSITIVE_INFINITY) > now();
  const take = async (run: KeptRun): Promise<void> => {
    const { runId } = run;
    const isKept = (): boolean => runs.get(runId) === run;
    if (!isKept()) return;
    const hadRunOut = !isHeld(runId);
    const until = now() + leaseMs;
    const answer = await store.lease(runId, owner, until, now());
    if (!isKept()) return;
    if (!answer.ok) {
      run.onLost(answer.owner);
      return;
    }
    // Another one may have had it in between, and have given it back.
    if (hadRunOut) await run.prove();
    if (isKept()) untilMs.set(runId, until);
  };
  // Apart from one another: however long hearing takes, whatever comes of it, leases are renewed.
  const duties = [renew, hear].map(oneAtATime);

  return {
    owner,
    leaseUntilMs: () => now() + leaseMs,
    keep(run) {
      runs.set(run.runId, run);
      untilMs.set(run.runId, run.leaseUntilMs);
      if (timer) return;
      renewAtMs = now() + renewEveryMs;
      timer = setInterval(() => duties.forEach((perform) => void perform()), lookEveryMs);
      timer.unref();
    },
    isHeld,
    async regain(runId) {
      const run = runs.get(runId);
      // Whether the store can be used shows when the run is saved.
      if (run) await take(run).catch(run.prove);
    },
    async leave(runId) {
      if (!runs.delete(runId)) return;
      untilMs.delete(runId);
      if (runs.size === 0) {
        clearInterval(timer);
        timer = undefined;
      }
      await store.release([runId], owner).catch(() => {});
    },
  };
}

/** Leaves out what comes while it is still busy. */
function oneAtATime(duty: () => Promise<void>): () => Promise<void> {
  let isBusy = false;
  return async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      await duty();
    } catch {
      // A store in trouble says so at the next save, which stops the run. Looking again costs nothing.
    } finally {
      isBusy = false;
    }
  };
}
