/** What the agent loop hears, and how it reads it. Guards and actions get their events through these. */
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';
import type { LimitReached, Limits } from '../src/core/budget.ts';
import * as calls from '../src/core/call-steps.ts';
import type { Json } from '../src/core/json.ts';
import * as ledgers from '../src/core/ledger.ts';
import { type ContentBlock, errorResult, type Message } from '../src/core/message.ts';
import * as model from '../src/core/model-steps.ts';
import type { ModelOutcome } from '../src/core/reply.ts';
import { bytesBound, type RunContext } from '../src/core/run-context.ts';
import * as spending from '../src/core/spending.ts';
import { describeThrown } from '../src/core/stringify.ts';
import type { ToolOutcome } from '../src/core/tool-call.ts';
import type { ModelCallInput } from './model-call.ts';
import { countOrZero, isWait, limitsIn } from './received.ts';
import type { ToolCallEvent, ToolCallReport } from './tool-call-events.ts';

/** What a run can be told. */
export type AgentLoopEvent =
  | Exclude<ToolCallEvent, { type: 'approval.granted' }>
  | (Extract<ToolCallEvent, { type: 'approval.granted' }> & { readonly input?: Json })
  | { readonly type: 'message.steered'; readonly content: readonly ContentBlock[] }
  | {
      readonly type: 'budget.raised';
      readonly limits: Partial<Limits>;
      /** When, in ms since the epoch: a deadline that has passed by then is reached at once. Default: not known. */
      readonly atMs?: number;
    }
  | { readonly type: 'time.ranOut'; readonly activeMs: number }
  | { readonly type: 'run.paused' }
  | { readonly type: 'run.resumed' }
  | { readonly type: 'run.cancelled'; readonly reason?: string };

/** What a run says by itself: `actor.on('call.waits', …)`. */
export type AgentLoopEmitted =
  | Extract<ToolCallReport, { type: 'call.waits' }>
  | { readonly type: 'limit.near'; readonly limit: LimitReached };

/** A transcript that says the same in fewer tokens. Null: it was lost, and may be tried again. */
export interface Compaction {
  readonly messages: readonly Message[] | null;
  readonly activeMs: number;
}

export type Event =
  | AgentLoopEvent
  | ToolCallReport
  | { readonly type: 'actor.restored' }
  | DoneActorEvent<void, 'deadline'>
  | DoneActorEvent<ToolOutcome, `tool.${string}`>
  | ErrorActorEvent<unknown, `tool.${string}`>
  | DoneActorEvent<ModelOutcome, 'modelCall'>
  | ErrorActorEvent<unknown, 'modelCall'>
  | DoneActorEvent<Compaction, 'compact'>
  | ErrorActorEvent<unknown, 'compact'>;

/** The event that a guard or action is only ever used with. */
export const as = <Type extends Event['type']>(event: Event, _type: Type) =>
  event as Extract<Event, { type: Type }>;

export const modelOutcome = (event: Event): ModelOutcome =>
  as(event, 'xstate.done.actor.modelCall').output;

export function callInput(
  { turn, plan, settings }: RunContext,
  kind: 'turn' | 'wrapUp',
): ModelCallInput {
  const { maxRetries } = settings.retry;
  return { ask: { kind, turn }, plan, maxRetries, models: settings.models.length };
}

export function takeReply(context: RunContext, event: Event): Partial<RunContext> {
  const outcome = modelOutcome(event);
  if (outcome.kind !== 'reply') return {};
  const ledger = ledgers.readMeter(context.ledger, outcome.activeMs);
  return model.takeReply({ ...context, ledger }, outcome.reply);
}

export function planAgain(context: RunContext, event: Event): Partial<RunContext> {
  const outcome = modelOutcome(event);
  return outcome.kind === 'again' ? model.planAgain(context, outcome) : {};
}

export function mayHaveBilled(event: Event): boolean {
  const outcome = modelOutcome(event);
  return outcome.kind === 'lost' || ('mayHaveBilled' in outcome && outcome.mayHaveBilled);
}

export function failureCode(event: Event): string | null {
  const outcome = modelOutcome(event);
  return outcome.kind === 'failed' ? outcome.failure.code : null;
}

export function failureIn(event: Event): RunContext['failure'] {
  if (event.type === 'xstate.error.actor.compact') {
    return { code: 'compaction_failed', message: describeThrown(event.error) };
  }
  if (event.type !== 'xstate.done.actor.modelCall') {
    return { code: 'internal', message: describeThrown((event as ErrorActorEvent<unknown>).error) };
  }
  return event.output.kind === 'failed' ? event.output.failure : null;
}

export const meterReading = (event: Event): number =>
  event.type === 'time.ranOut' ? countOrZero(event.activeMs) : modelOutcome(event).activeMs;

export function raiseBudget(context: RunContext, event: Event): Partial<RunContext> {
  const raised = as(event, 'budget.raised');
  const limits = limitsIn(raised.limits, context.ledger.limits);
  const ledger = ledgers.readClock(context.ledger, countOrZero(raised.atMs));
  return { ...spending.forgiven(limits), ledger: ledgers.raiseLimits(ledger, limits) };
}

/** The time has come that the run waited for. How long ago, after a restart, nobody needs to know. */
export const readClock = ({ ledger }: RunContext): Partial<RunContext> => ({
  ledger: ledgers.readClock(ledger, ledger.limits.deadlineAt ?? 0),
});

/** One that has passed is watched when it is new: nobody may have looked since, and the run goes on meanwhile. */
export function deadlineToWatch(context: RunContext, event: Event): number | null {
  const { deadlineAt } = context.ledger.limits;
  if (event.type !== 'budget.raised') return spending.deadlineAhead(context);
  const isNew = Object.hasOwn(limitsIn(event.limits, context.ledger.limits), 'deadlineAt');
  return isNew ? deadlineAt : spending.deadlineAhead(context);
}

export function takeCompaction(context: RunContext, event: Event): Partial<RunContext> {
  const { messages, activeMs } = as(event, 'xstate.done.actor.compact').output;
  const ledger = ledgers.readMeter(context.ledger, activeMs);
  if (messages === null) return { ledger };
  return {
    messages,
    ledger,
    generation: context.generation + 1,
    compactedLength: messages.length,
    contextTokens: bytesBound(context.settings, messages),
  };
}

export function noteWait(context: RunContext, event: Event): Partial<RunContext> {
  const { callId, wait, isRunning } = as(event, 'call.waits');
  return isWait(wait) ? calls.noteWait(context, callId, wait, isRunning === true) : {};
}

/** Why open calls are closed, for the model to read. */
export function whyStopped(event: Event): string {
  if (event.type === 'run.cancelled') return 'The run was cancelled.';
  if (event.type === 'time.ranOut') return 'The run has used up its time.';
  if (event.type === 'xstate.done.actor.deadline') return 'The run has reached its deadline.';
  return 'The run has reached its end.';
}

export function toolOutcome(event: Event): ToolOutcome {
  if (event.type.startsWith('xstate.done.actor.tool.')) {
    return (event as DoneActorEvent<ToolOutcome>).output;
  }
  const { actorId, error } = event as ErrorActorEvent<unknown>;
  const callId = actorId.slice('tool.'.length);
  const result = errorResult(callId, `The call failed: ${describeThrown(error)}`);
  return { callId, result, ending: 'failed', costMicros: null, activeMs: 0 };
}

/** An edit stays in the run's context: children hold no payload. */
export function withoutInput(event: ToolCallEvent): ToolCallEvent {
  const { input: _, ...rest } = event as ToolCallEvent & { readonly input?: Json };
  return rest;
}
