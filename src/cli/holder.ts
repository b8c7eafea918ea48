/** Who goes on with a run at this moment. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { PawlError } from '../core/errors.ts';
import type { Store } from '../stores/store.ts';
import { shortId } from './run-id.ts';

/**
 * The process that holds the run, or null. A lease that a dead process of this machine left behind is given back, so that
 * nobody has to wait until it runs out.
 */
export async function holderOf(store: Store, runId: string): Promise<string | null> {
  // Asks for a lease that has run out already: it keeps nobody away.
  const own = `look/${process.pid}/${randomUUID()}`;
  const answer = await store.lease(runId, own, 0, Date.now());
  if (!answer.ok && !isGone(answer.owner)) return answer.owner;
  await store.release([runId], answer.ok ? own : answer.owner);
  return null;
}

/** Owners are named `host/process/…`. Of other machines nothing is known. */
export function isGone(owner: string, isAlive: (pid: number) => boolean = lives): boolean {
  const [, host, pid] = /^([^/]*)\/([1-9]\d{0,9})\//.exec(owner) ?? [];
  return host === hostname() && pid !== undefined && !isAlive(Number(pid));
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** @throws PawlError `run_locked` */
export async function refuseHeld(store: Store, runId: string): Promise<void> {
  const holder = await holderOf(store, runId);
  if (holder === null) return;
  throw new PawlError(
    'run_locked',
    `Run ${shortId(runId)} is held by another process (${holder}). Nothing was done.`,
  );
}
