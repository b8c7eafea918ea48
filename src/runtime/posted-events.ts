import type { AgentLoopEvent } from '../../machines/agent-loop-events.ts';
import type { Json } from '../core/json.ts';

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
