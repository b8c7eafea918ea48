/** Keeps the leases of the runs of this process, and brings them what other processes posted. */
import type { Posted, Store } from '../stores/store.ts';

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
  let isBusy = false;
  let renewAtMs = 0;

  const hear = async (): Promise<void> => {
    for (const posted of await store.posted([...runs.keys()])) runs.get(posted.runId)?.hear(posted);
  };
  const renew = async (): Promise<void> => {
    renewAtMs = now() + renewEveryMs;
    for (const run of [...runs.values()]) await take(run);
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
  const look = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    try {
      await hear();
      if (now() >= renewAtMs) await renew();
    } catch {
      // A store in trouble says so at the next save, which stops the run. Looking again costs nothing.
    } finally {
      isBusy = false;
    }
  };

  return {
    owner,
    leaseUntilMs: () => now() + leaseMs,
    keep(run) {
      runs.set(run.runId, run);
      untilMs.set(run.runId, run.leaseUntilMs);
      if (timer) return;
      renewAtMs = now() + renewEveryMs;
      timer = setInterval(() => void look(), lookEveryMs);
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
