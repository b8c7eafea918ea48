/** What a play came to, as the record that `evaluate` reads. */

import { toCaseCode } from './mapping.ts';
import type { Look } from './orders.ts';
import { equalSnapshots } from './snapshots.ts';
import { hostOf, type Seat, type Stage } from './stage.ts';

export interface Observed {
  readonly [field: string]: unknown;
}

/** A copy: what happens later does not change it. */
export async function observe(stage: Stage, seat: Seat, signal: AbortSignal): Promise<Observed> {
  const host = await hostOf(stage, seat);
  const look = await host.ask('look', null, signal);
  const { executions } = stage;
  const server = structuredClone(stage.server.log());
  const maxRequestBytes = Math.max(0, ...server.requests.map(({ bytes }) => bytes));
  const refusal = seat.refusal && {
    code: toCaseCode(seat.refusal.code),
    message: seat.refusal.message,
  };
  return {
    status: refusal ? 'rejected' : look.status,
    error: refusal ?? look.error,
    result: { text: refusal ? '' : look.text },
    pending: refusal ? [] : look.pending,
    toolExecutions: Object.fromEntries([...executions].map(([id, inputs]) => [id, inputs.length])),
    toolInputs: structuredClone(Object.fromEntries(executions)),
    usage: usageOf(stage),
    events: eventsOf(stage),
    durationMs: Math.round(performance.now() - stage.startedAt),
    artifacts: { ...artifactsOf(stage, look), maxRequestBytes },
    server,
  };
}

/** Of the whole conversation: a follow-up is a run of its own. */
function usageOf({ runs }: Stage) {
  // A run that was resumed goes on counting where it was.
  const own = [...runs.values()].filter(({ isChild }) => !isChild);
  const latest = new Map(own.map((run) => [run.runId, run]));
  const total = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  let costUsd = 0;
  for (const { ended, events } of latest.values()) {
    const usages = ended
      ? [{ ...ended.usage, costUsd: ended.costUsd }]
      : events.flatMap((event) =>
          event.type === 'model.replied' ? [{ ...event.usage, costUsd: event.costUsd }] : [],
        );
    for (const usage of usages) {
      total.inputTokens += usage.inputTokens;
      total.outputTokens += usage.outputTokens;
      total.cacheReadTokens += usage.cacheReadTokens;
      total.cacheWriteTokens += usage.cacheWriteTokens;
      costUsd += usage.costUsd ?? 0;
    }
  }
  return { ...total, costUsd };
}

/** Of all runs that a user started. */
const eventsOf = ({ runs }: Stage) =>
  [...runs.values()].flatMap(({ isChild, events }) => (isChild ? [] : events));

function artifactsOf(stage: Stage, { isPolluted, listenersLeft }: Look) {
  const { predicateCalls, actionErrors, workerErrors, isSteerRejected } = stage;
  return {
    everything: everythingOf(stage),
    objectPrototypePolluted: isPolluted,
    abortListenersLeft: listenersLeft,
    workerErrors: [...workerErrors],
    actionErrors: [...actionErrors],
    terminalEvents: eventsOf(stage).filter(({ type }) => type === 'run.ended').length,
    snapshotsEqual: equalSnapshots(stage.kase.expect, stage.snapshots),
    approvalPredicateCalls: predicateCalls,
    steerRejected: isSteerRejected,
  };
}

/**
 * Events, however they were heard, and the texts of all errors. Not the transcript, nor snapshots, which hold it: that is
 * the conversation itself.
 */
function everythingOf({ runs, said }: Stage): string {
  const heard = [...runs.values()].flatMap(({ events, ended }) => [
    ...events.map((event) => JSON.stringify(event)),
    ended?.reason ?? '',
    ended?.error?.message ?? '',
    JSON.stringify(ended?.refusal ?? ''),
  ]);
  return [...said, ...heard].join('\n');
}
