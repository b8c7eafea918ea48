/** Keeps the leases of the runs of this process, and brings them what other processes posted. */
import type { Posted, Store } from '../stores/store.ts';

export interface KeptRun {
  readonly runId: string;
  readonly hear: (posted: Posted) => void;
  /** Another process holds the run now. */
  readonly onLost: (owner: string) => void;
}

export interface Keeper {
  /** Names this process, and this agent in it. */
  readonly owner: string;
  /** Until when a lease that is taken now holds. */
  leaseUntilMs(): number;
  keep(run: KeptRun): void;
  /** Gives the lease back. Never rejects: a lease runs out by itself. */
  leave(runId: string): Promise<void>;
}

/** A lease holds for 15 s and is renewed every 5; posted events are looked for twice a second. */
const leaseMs = 15_000;
const renewEveryMs = 5_000;
const lookEveryMs = 500;

export function createKeeper(store: Store, owner: string, now: () => number): Keeper {
  const runs = new Map<string, KeptRun>();
  let timer: NodeJS.Timeout | undefined;
  let isBusy = false;
  let renewAtMs = 0;

  const hear = async (): Promise<void> => {
    for (const posted of await store.posted([...runs.keys()])) runs.get(posted.runId)?.hear(posted);
  };
  const renew = async (): Promise<void> => {
    renewAtMs = now() + renewEveryMs;
    for (const run of [...runs.values()]) {
      const answer = await store.lease(run.runId, owner, now() + leaseMs, now());
      if (!answer.ok && runs.has(run.runId)) run.onLost(answer.owner);
    }
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
      if (timer) return;
      renewAtMs = now() + renewEveryMs;
      timer = setInterval(() => void look(), lookEveryMs);
      timer.unref();
    },
    async leave(runId) {
      if (!runs.delete(runId)) return;
      if (runs.size === 0) {
        clearInterval(timer);
        timer = undefined;
      }
      await store.release([runId], owner).catch(() => {});
    },
  };
}
