import { checkText } from '../core/check.ts';
import { copyJson } from '../core/copy-json.ts';
import { checkPrompt } from './checks.ts';
import { decisionsFor, pendingCalls } from './decisions.ts';
import { type LiveRun, type RunOptions, startLiveRun } from './live-run.ts';
import type { Run } from './run.ts';
import { raisedLimits } from './run-checks.ts';
import { stateName } from './run-watch.ts';

/** The handle for users, and the run behind it for whoever keeps it. */
export interface OpenRun {
  readonly run: Run;
  readonly live: LiveRun;
}

/** Starts a run, or goes on with one, and gives the handle to it. */
export function openRun(options: RunOptions): OpenRun {
  const live = startLiveRun(options);
  const { actor, send } = live;
  const run: Run = {
    id: live.runId,
    events: live.events,
    result: live.result,
    get state() {
      return stateName(actor.getSnapshot().value);
    },
    get pending() {
      return live.isOver() ? [] : pendingCalls(live.contextNow());
    },
    idle: () => untilIdle(live),
    ...decisionsFor(live, options.parts),
    steer: (message) => send({ type: 'message.steered', content: checkPrompt(message, 'message') }),
    pause: () => send({ type: 'run.paused' }),
    resume: () => send({ type: 'run.resumed' }),
    raiseBudget(budget) {
      const { models } = live.contextNow().settings;
      const limits = raisedLimits(budget, models);
      send({ type: 'budget.raised', limits, atMs: options.parts.now() });
    },
    cancel(reason) {
      checkText('reason', reason);
      if (live.isOver()) return;
      send({ type: 'run.cancelled', ...(reason !== undefined && { reason }) });
    },
    snapshot: () => copyJson(live.snapshotNow()),
    suspend: async () => copyJson(await live.suspend()),
  };
  return { run, live };
}

/** A run waits once the store knows that it does: who speaks to it from elsewhere has only that. */
const untilIdle = ({ actor, isOver, result, saved }: LiveRun): Promise<'ended' | 'waiting'> =>
  new Promise((resolve) => {
    const leave = (state: 'ended' | 'waiting'): void => {
      subscription.unsubscribe();
      resolve(state);
    };
    const isWaiting = (): boolean => !isOver() && actor.getSnapshot().hasTag('waitsForHuman');
    const look = (): void => {
      if (!isWaiting()) return;
      // One that can't be saved ends.
      void saved().then(
        () => isWaiting() && leave('waiting'),
        () => {},
      );
    };
    const subscription = actor.subscribe({ next: look });
    void result.then(() => leave('ended'));
    look();
  });
