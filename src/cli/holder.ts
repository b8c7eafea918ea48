/** Who goes on with a run at this moment. */
import { randomUUID } from 'node:crypto';
import { PawlError } from '../core/errors.ts';
import { isOwnerGone, nameOfOwner } from '../runtime/owner.ts';
import type { Store } from '../stores/store.ts';
import { shortId } from './run-id.ts';

/** The process that holds the run, or null. One of this machine that is dead holds nothing. */
export async function holderOf(store: Store, runId: string): Promise<string | null> {
  // Asks for a lease that has run out already: it keeps nobody away.
  const own = `look/${process.pid}/${randomUUID()}`;
  const answer = await store.lease(runId, own, 0, Date.now());
  if (!answer.ok) return isOwnerGone(answer.owner) ? null : answer.owner;
  await store.release([runId], own);
  return null;
}

/** @throws PawlError `run_locked` */
export async function refuseHeld(store: Store, runId: string): Promise<void> {
  const holder = await holderOf(store, runId);
  if (holder === null) return;
  throw new PawlError(
    'run_locked',
    `Run ${shortId(runId)} is held by another process (${nameOfOwner(holder)}). Nothing was done.`,
  );
}
