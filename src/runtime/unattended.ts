/** Which runs of a store want somebody to go on with them. */
import { PawlError } from '../core/errors.ts';
import { describeThrown } from '../core/stringify.ts';
import type { Store } from '../stores/store.ts';
import { postedByRun } from './posted-events.ts';

/** Runs of the agent that nobody goes on with: in flight when a process died, told something since, or overdue. */
export async function unattended(
  store: Store,
  agent: string | null,
  nowMs: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const page = await store.list({
      status: ['running', 'waiting'],
      ...(agent !== null && { agent }),
      ...(after !== null && { after }),
    });
    const own = page.runs.filter((run) => run.agent === agent);
    const waiting = own.filter(({ status }) => status === 'waiting');
    const waitingIds = waiting.map(({ runId }) => runId);
    const { posted, damaged } = await postedByRun(store, waitingIds);
    for (const { runId, error } of damaged) warnOfRun(runId, error);
    const told = new Set(posted.map(({ runId }) => runId));
    for (const { runId, status, deadlineAtMs = Number.POSITIVE_INFINITY } of own) {
      if (status === 'running' || told.has(runId) || deadlineAtMs <= nowMs) ids.push(runId);
    }
    after = page.next;
  } while (after !== null);
  return ids;
}

/** What keeps one run from going on, and no other. */
export const isOfOneRun = (error: unknown): error is PawlError =>
  isHeld(error) ||
  (PawlError.is(error) && ['snapshot_incompatible', 'store_failed'].includes(error.code));

export const isHeld = (error: unknown): error is PawlError =>
  PawlError.is(error) && (error.code === 'run_locked' || error.code === 'run_exists');

export const warnOfRun = (runId: string, error: unknown): void =>
  process.emitWarning(`Run "${runId}" was not resumed: ${describeThrown(error)}`, 'PawlWarning');
