/** What a play came to, as the record that `evaluate` reads. */

import { toCaseCode, toCaseStatus } from './mapping.ts';
import { isPolluted } from './process-watch.ts';
import { equalSnapshots } from './snapshots.ts';
import { listenersLeft, pendingOf, type Stage, type Tracked } from './stage.ts';

export interface Observed {
  readonly [field: string]: unknown;
}

/** A copy: what happens later does not change it. */
export function observe(stage: Stage): Observed {
  const { current, executions, refusal } = stage;
  const server = structuredClone(stage.server.log());
  const maxRequestBytes = Math.max(0, ...server.requests.map(({ bytes }) => bytes));
  return {
    status: statusOf(stage),
    error: refusal ?? errorOf(current),
    result: { text: current?.ended?.text ?? '' },
    pending: pendingOf(stage).map(({ id }) => id),
    toolExecutions: Object.fromEntries([...executions].map(([id, inputs]) => [id, inputs.length])),
    toolInputs: Object.fromEntries(executions),
    usage: usageOf(stage),
    events: eventsOf(stage),
    durationMs: Math.round(performance.now() - stage.startedAt),
    artifacts: { ...artifactsOf(stage), maxRequestBytes },
    server,
  };
}

function statusOf(stage: Stage): string {
  if (stage.refusal) return 'rejected';
  if (stage.current?.ended) return toCaseStatus(stage.current.ended);
  return pendingOf(stage).length > 0 ? 'awaiting_approval' : 'running';
}

function errorOf(current: Tracked | null) {
  const error = current?.ended?.error;
  return error ? { code: toCaseCode(error.code), message: error.message } : null;
}

/** Of the whole conversation: a follow-up is a run of its own. */
function usageOf({ runs }: Stage) {
  // A run that was resumed goes on counting where it was.
  const latest = new Map(runs.filter(({ isChild }) => !isChild).map((run) => [run.run.id, run]));
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
  runs.flatMap(({ isChild, events }) => (isChild ? [] : events));

function artifactsOf(stage: Stage) {
  const { predicateCalls, actionErrors, isSteerRejected } = stage;
  return {
    everything: everythingOf(stage),
    objectPrototypePolluted: isPolluted(),
    abortListenersLeft: listenersLeft(stage),
    workerErrors: [],
    actionErrors: [...actionErrors],
    terminalEvents: eventsOf(stage).filter(({ type }) => type === 'run.ended').length,
    snapshotsEqual: equalSnapshots(stage),
    approvalPredicateCalls: [...predicateCalls.values()].reduce((sum, calls) => sum + calls, 0),
    steerRejected: isSteerRejected,
  };
}

/**
 * Events, however they were heard, and the texts of all errors. Not the transcript, nor snapshots, which hold it: that is
 * the conversation itself.
 */
function everythingOf({ runs, said }: Stage): string {
  const heard = runs.flatMap(({ events, ended }) => [
    ...events.map((event) => JSON.stringify(event)),
    ended?.reason ?? '',
    ended?.error?.message ?? '',
    JSON.stringify(ended?.refusal ?? ''),
  ]);
  return [...said, ...heard].join('\n');
}
