/** What a tool call hears, and how it reads it. Guards and actions get their events through these. */
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';
import { errorResult, type ToolResult } from '../src/core/message.ts';
import { describeThrown } from '../src/core/stringify.ts';
import type {
  OnInterrupted,
  ProbeOutcome,
  RunOutcome,
  ToolEffect,
  ToolEnding,
  ToolOutcome,
  Validation,
  Verdict,
  Wait,
} from '../src/core/tool-call.ts';
import { textOrNull } from './received.ts';

export interface ToolCallInput {
  readonly callId: string;
  readonly effect: ToolEffect;
  readonly maxRetries: number;
  readonly onInterrupted: OnInterrupted;
}

export interface ToolCallRef {
  readonly callId: string;
  readonly attempt: number;
  /** What a person approved. Null: nobody had to. */
  readonly approvedHash: string | null;
}

/** Facts for a call, sent to the run, which passes them on. */
export type ToolCallEvent =
  | { readonly type: 'approval.granted'; readonly callId: string; readonly argumentsHash: string }
  | { readonly type: 'approval.denied'; readonly callId: string; readonly reason?: string }
  | {
      readonly type: 'call.settled';
      readonly callId: string;
      readonly content: string;
      readonly isError?: boolean;
    }
  | { readonly type: 'call.retried'; readonly callId: string };

/** Told to the run, so that its own snapshot shows what each call is doing. */
export type ToolCallReport =
  | {
      readonly type: 'call.waits';
      readonly callId: string;
      readonly wait: Wait;
      /** An earlier attempt may have acted, though the call waits for an approval now. Default: none. */
      readonly isRunning?: boolean;
    }
  | { readonly type: 'call.works'; readonly callId: string; readonly isRunning: boolean };

export type Event =
  | ToolCallEvent
  | { readonly type: 'actor.restored' }
  | DoneActorEvent<Validation, 'validateInput'>
  | DoneActorEvent<Verdict, 'checkPermission'>
  | DoneActorEvent<void, 'slot'>
  | DoneActorEvent<void, 'until'>
  | DoneActorEvent<RunOutcome, 'runTool'>
  | DoneActorEvent<ProbeOutcome, 'probeTool'>
  | ErrorActorEvent<unknown, string>;

export interface ToolCallContext extends ToolCallInput {
  readonly attempt: number;
  readonly argumentsHash: string | null;
  readonly isApproved: boolean;
  readonly retryAt: number;
  readonly outcome: ToolOutcome;
}

/** The event that a guard or action is only ever used with. */
export const as = <Type extends Event['type']>(event: Event, _type: Type) =>
  event as Extract<Event, { type: Type }>;

export const runOutcome = (event: Event): RunOutcome =>
  as(event, 'xstate.done.actor.runTool').output;

export const probeOutcome = (event: Event): ProbeOutcome =>
  as(event, 'xstate.done.actor.probeTool').output;

const answer = (
  { outcome }: ToolCallContext,
  result: ToolResult | null,
  ending: ToolEnding,
): ToolOutcome => ({ ...outcome, result: result ?? outcome.result, ending });

export const malformed = (context: ToolCallContext, event: Event): ToolOutcome =>
  answer(context, as(event, 'xstate.done.actor.validateInput').output.problem, 'malformed');

export function deniedByPolicy(context: ToolCallContext, event: Event): ToolOutcome {
  const verdict = as(event, 'xstate.done.actor.checkPermission').output;
  return answer(context, verdict.kind === 'deny' ? verdict.result : null, 'denied');
}

export function deniedByPerson(context: ToolCallContext, event: Event): ToolOutcome {
  const reason = textOrNull(as(event, 'approval.denied').reason);
  const why = reason?.trim()
    ? `Denied by a person: ${reason}`
    : 'Denied by a person. No reason was given.';
  return {
    ...answer(context, errorResult(context.callId, why), 'denied'),
    costMicros: context.attempt === 1 ? 0 : null,
  };
}

/** Of a call that has not begun, so it spent nothing. */
export const brokenBefore = (context: ToolCallContext, event: Event): ToolOutcome =>
  answer(
    context,
    errorResult(context.callId, describeThrown((event as ErrorActorEvent<unknown>).error)),
    'failed',
  );

export const broken = (context: ToolCallContext, event: Event): ToolOutcome => ({
  ...brokenBefore(context, event),
  costMicros: null,
});

export function settledByPerson(context: ToolCallContext, event: Event): ToolOutcome {
  const { callId } = context;
  const { content, isError } = as(event, 'call.settled');
  const result: ToolResult = isError
    ? errorResult(callId, textOrNull(content) || 'The call failed.')
    : { type: 'tool_result', tool_use_id: callId, content: textOrNull(content) ?? '' };
  return { ...answer(context, result, 'settled'), costMicros: null };
}

export function ran(context: ToolCallContext, event: Event): ToolOutcome {
  const outcome = runOutcome(event);
  return {
    ...answer(context, 'result' in outcome ? outcome.result : null, endingOf(outcome)),
    // Known only when the first attempt gave a result: what others spent before they failed, nobody knows.
    costMicros: outcome.kind === 'done' && context.attempt === 1 ? outcome.costMicros : null,
    activeMs: outcome.activeMs,
  };
}

function endingOf(outcome: RunOutcome): ToolEnding {
  if (outcome.kind === 'notRun') return outcome.ending;
  return outcome.kind === 'done' ? 'done' : 'failed';
}

/** The probe found the result that the lost attempt came to. */
export function found(context: ToolCallContext, event: Event): ToolOutcome {
  const outcome = probeOutcome(event);
  if (outcome.kind !== 'happened') return context.outcome;
  return {
    ...answer(context, outcome.result, 'done'),
    costMicros: context.attempt === 1 ? outcome.costMicros : null,
    activeMs: outcome.activeMs,
  };
}

export function unknown(context: ToolCallContext, event: Event): ToolOutcome {
  const isOutcome = event.type === 'xstate.done.actor.probeTool';
  return {
    ...answer(context, errorResult(context.callId, whatIsUnknown), 'unknown'),
    costMicros: null,
    activeMs: isOutcome ? probeOutcome(event).activeMs : context.outcome.activeMs,
  };
}

const whatIsUnknown =
  'The outcome of this call is unknown: it was interrupted while it ran, so it may or may not have taken effect. Find out what happened before you try it again.';

export function hashIn(event: Event): string | null {
  const { output } = event as DoneActorEvent<Verdict | RunOutcome>;
  return output.kind === 'ask' || output.kind === 'stale' ? output.argumentsHash : null;
}

export function retryAtIn(event: Event): number {
  const outcome = runOutcome(event);
  return outcome.kind === 'failed' ? outcome.retryAt : 0;
}

/** An attempt before the one that waits: it was lost, or a person is asked what became of it. */
export const mayHaveActed = ({ attempt }: ToolCallContext, { type }: Event): boolean =>
  attempt > 1 || type === 'call.settled' || type === 'call.retried';
