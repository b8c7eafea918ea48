/** Speaks to a run through its store, whoever holds it: approvals of another terminal, or while nobody runs it. */
import { type Budget, namedLimits } from '../core/budget.ts';
import { openCall } from '../core/call-steps.ts';
import { checkText } from '../core/check.ts';
import { PawlError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { RunContext } from '../core/run-context.ts';
import type { Wait } from '../core/tool-call.ts';
import type { Store } from '../stores/store.ts';
import { checkPrompt } from './checks.ts';
import { notAwaiting, staleApproval } from './decisions.ts';
import { finished } from './live-run.ts';
import type { Run } from './run.ts';
import {
  checkApproval,
  checkCallId,
  checkDenial,
  checkSettlement,
  raisedLimits,
} from './run-checks.ts';
import { checkStored, unknownRun } from './stored-run.ts';

/** What can be told to a run from outside. Each resolves when the word is durable; the run hears it when it runs. */
export interface RemoteRun extends Pick<Run, 'approve' | 'deny' | 'settle' | 'retry'> {
  steer(message: Parameters<Run['steer']>[0]): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  raiseBudget(budget: Budget): Promise<void>;
  cancel(reason?: string): Promise<void>;
}

/** @throws PawlError of each method: `unknown_run`, `run_finished`, `unknown_tool_use`, `not_awaiting`, `invalid_input` */
export function remoteRun(store: Store, runId: string): RemoteRun {
  const contextNow = async (): Promise<RunContext> => {
    const saved = await store.load(runId);
    if (!saved) throw unknownRun(runId);
    const { context } = checkStored(saved).snapshot;
    const run = context as unknown as RunContext;
    if (run.status !== null) throw finished(runId);
    return run;
  };
  const post = (event: { readonly [key: string]: Json }): Promise<void> => store.post(runId, event);
  const tell = async (event: { readonly [key: string]: Json }): Promise<void> => {
    await contextNow();
    await post(event);
  };
  const waitOf = async (callId: string, kind: Wait['for']): Promise<Wait> => {
    const context = await contextNow();
    const waits = openCall(context, callId)?.waits;
    if (waits?.for !== kind) throw notAwaiting(context, callId, kind);
    const posted = await store.posted([runId]);
    if (posted.some(({ event }) => event.callId === callId)) throw toldBefore(callId);
    return waits;
  };
  return {
    async approve(callId, options = {}) {
      checkApproval(callId, options);
      const waits = await waitOf(callId, 'approval');
      const shown = waits.for === 'approval' ? waits.argumentsHash : '';
      if ((options.argumentsHash ?? shown) !== shown) throw staleApproval(callId);
      const edit = options.input === undefined ? {} : { input: options.input };
      await post({ type: 'approval.granted', callId, argumentsHash: shown, ...edit });
    },
    async deny(callId, reason) {
      checkDenial(callId, reason);
      await waitOf(callId, 'approval');
      await post({ type: 'approval.denied', callId, ...(reason !== undefined && { reason }) });
    },
    async settle(callId, outcome) {
      checkSettlement(callId, outcome);
      await waitOf(callId, 'settlement');
      const { content, isError = false } = outcome;
      await post({ type: 'call.settled', callId, content, isError });
    },
    async retry(callId) {
      checkCallId(callId);
      await waitOf(callId, 'settlement');
      await post({ type: 'call.retried', callId });
    },
    steer: async (message) => {
      const content = checkPrompt(message, 'message') as unknown as Json;
      await tell({ type: 'message.steered', content });
    },
    pause: () => tell({ type: 'run.paused' }),
    resume: () => tell({ type: 'run.resumed' }),
    async raiseBudget(budget) {
      namedLimits(budget);
      const { settings } = await contextNow();
      const limits = raisedLimits(budget, settings.models);
      await post({ type: 'budget.raised', limits: limits as Json });
    },
    async cancel(reason) {
      checkText('reason', reason);
      await tell({ type: 'run.cancelled', ...(reason !== undefined && { reason }) });
    },
  };
}

/** The run hears the first word only; whoever says another has to know. */
const toldBefore = (callId: string): PawlError =>
  new PawlError(
    'not_awaiting',
    `Tool use "${callId}" was decided already; the run has yet to hear of it. Nothing was changed.`,
  );
