import type { AgentLoopEvent } from '../../machines/agent-loop-events.ts';
import type { Json } from '../core/json.ts';
import type { Posted, Store } from '../stores/store.ts';

/** What other processes may tell a run through the store. */
const types: ReadonlySet<unknown> = new Set<AgentLoopEvent['type']>([
  'approval.granted',
  'approval.denied',
  'call.settled',
  'call.retried',
  'message.steered',
  'budget.raised',
  'run.paused',
  'run.resumed',
  'run.cancelled',
]);

/** Rows of a store are foreign: what is no event for runs is dropped, and the machine's guards look at the rest. */
export const isForRuns = (event: unknown): event is AgentLoopEvent =>
  typeof event === 'object' && event !== null && types.has((event as { type?: Json }).type);

export interface PostedToRuns {
  /** Of each run, oldest first. */
  readonly posted: readonly Posted[];
  /** Runs whose posted events can't be read. */
  readonly damaged: readonly { readonly runId: string; readonly error: unknown }[];
}

/** What was posted to these runs; one that can't be read hides nothing of the others. Rejects when the store is in trouble. */
export async function postedByRun(store: Store, runIds: readonly string[]): Promise<PostedToRuns> {
  try {
    return { posted: await store.posted(runIds), damaged: [] };
  } catch (error) {
    // Asked about no run: that fails only when the whole store does.
    await store.posted([]);
    return runIds.length > 1
      ? readInHalves(store, runIds)
      : { posted: [], damaged: runIds.map((runId) => ({ runId, error })) };
  }
}

/** Among many runs, few reads find the damaged one. */
async function readInHalves(store: Store, runIds: readonly string[]): Promise<PostedToRuns> {
  const middle = Math.ceil(runIds.length / 2);
  const first = await postedByRun(store, runIds.slice(0, middle));
  const second = await postedByRun(store, runIds.slice(middle));
  return {
    posted: [...first.posted, ...second.posted],
    damaged: [...first.damaged, ...second.damaged],
  };
}
