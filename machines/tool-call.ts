/**
 * One tool use: from the model's request to the result that answers it.
 *
 * Holds no payload: the tool's input stays in the run's transcript, effects look it up by `callId`. That keeps
 * checkpoints small and hostile input out of them.
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, sendParent, setup } from 'xstate';
import { errorResult, type ToolResult } from '../src/core/message.ts';
import { describeThrown } from '../src/core/stringify.ts';
import type {
  RunOutcome,
  ToolEffect,
  ToolEnding,
  ToolOutcome,
  Validation,
  Verdict,
  Wait,
} from '../src/core/tool-call.ts';
import { notProvided } from './not-provided.ts';
import { textOrNull } from './received.ts';

export interface ToolCallInput {
  readonly callId: string;
  readonly effect: ToolEffect;
  readonly maxRetries: number;
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

type Event =
  | ToolCallEvent
  | { readonly type: 'actor.restored' }
  | DoneActorEvent<Validation, 'validateInput'>
  | DoneActorEvent<Verdict, 'checkPermission'>
  | DoneActorEvent<void, 'slot'>
  | DoneActorEvent<void, 'until'>
  | DoneActorEvent<RunOutcome, 'runTool'>
  | ErrorActorEvent<unknown, string>;

export interface ToolCallContext extends ToolCallInput {
  readonly attempt: number;
  readonly argumentsHash: string | null;
  readonly isApproved: boolean;
  readonly retryAt: number;
  readonly outcome: ToolOutcome;
}

const startToolCall = ({ input }: { input: ToolCallInput }): ToolCallContext => ({
  ...input,
  attempt: 1,
  argumentsHash: null,
  isApproved: false,
  retryAt: 0,
  outcome: {
    callId: input.callId,
    result: errorResult(input.callId, 'Not executed.'),
    ending: 'notRun',
    costMicros: 0,
    activeMs: 0,
  },
});
const outcomeOf = ({ context }: { context: ToolCallContext }): ToolOutcome => context.outcome;
const callRef = ({ context }: { context: ToolCallContext }): ToolCallRef => ({
  callId: context.callId,
  attempt: context.attempt,
  approvedHash: context.isApproved ? context.argumentsHash : null,
});
const untilInput = ({ context }: { context: ToolCallContext }) => ({ at: context.retryAt });

export const toolCall = setup({
  types: {
    context: {} as ToolCallContext,
    events: {} as Event,
    input: {} as ToolCallInput,
    output: {} as ToolOutcome,
    tags: {} as 'busy' | 'waitsForHuman',
  },
  actors: {
    validateInput: notProvided<Validation, ToolCallRef>('validateInput'),
    checkPermission: notProvided<Verdict, ToolCallRef>('checkPermission'),
    slot: notProvided<void, ToolCallRef>('slot'),
    runTool: notProvided<RunOutcome, ToolCallRef>('runTool'),
    until: notProvided<void, { readonly at: number }>('until'),
  },
  guards: {
    isInvalid: ({ event }) => as(event, 'xstate.done.actor.validateInput').output.problem !== null,
    isAllowed: ({ event }) =>
      as(event, 'xstate.done.actor.checkPermission').output.kind === 'allow',
    needsApproval: ({ event }) =>
      as(event, 'xstate.done.actor.checkPermission').output.kind === 'ask',
    isForTheseArguments: ({ context, event }) =>
      as(event, 'approval.granted').argumentsHash === context.argumentsHash,
    isStale: ({ event }) => runOutcome(event).kind === 'stale',
    isLost: ({ event }) => runOutcome(event).kind === 'lost',
    mustAskAPerson: ({ context, event }) =>
      runOutcome(event).kind === 'lost' && context.effect === 'once',
    mayRetry: ({ context, event }) =>
      runOutcome(event).kind === 'failed' && context.attempt <= context.maxRetries,
  },
  actions: {
    answerProblem: assign(({ context, event }) => ({
      outcome: answer(
        context,
        as(event, 'xstate.done.actor.validateInput').output.problem,
        'malformed',
      ),
    })),
    answerVerdict: assign(({ context, event }) => ({
      outcome: answer(
        context,
        denialOf(as(event, 'xstate.done.actor.checkPermission').output),
        'denied',
      ),
    })),
    answerError: assign(({ context, event }) => ({
      outcome: {
        ...answer(
          context,
          errorResult(context.callId, describeThrown((event as ErrorActorEvent<unknown>).error)),
          'failed',
        ),
        costMicros: null,
      },
    })),
    /** Of a call that has not begun, so it spent nothing. */
    answerUnrun: assign(({ context, event }) => ({
      outcome: answer(
        context,
        errorResult(context.callId, describeThrown((event as ErrorActorEvent<unknown>).error)),
        'failed',
      ),
    })),
    answerDenial: assign(({ context, event }) => ({
      outcome: {
        ...answer(
          context,
          denial(context, textOrNull(as(event, 'approval.denied').reason)),
          'denied',
        ),
        costMicros: context.attempt === 1 ? 0 : null,
      },
    })),
    takeSettlement: assign(({ context, event }) => ({
      outcome: {
        ...answer(context, settlement(context, as(event, 'call.settled')), 'settled'),
        costMicros: null,
      },
    })),
    takeResult: assign(({ context, event }) => ({
      outcome: {
        ...answer(context, resultIn(event), endingIn(event)),
        costMicros: costIn(context, event),
        activeMs: runOutcome(event).activeMs,
      },
    })),
    bindArguments: assign(({ event }) => ({ argumentsHash: hashIn(event), isApproved: false })),
    approve: assign({ isApproved: true }),
    countAttempt: assign(({ context }) => ({ attempt: context.attempt + 1 })),
    planRetry: assign(({ context, event }) => ({
      attempt: context.attempt + 1,
      retryAt: retryAtIn(event),
    })),
    reportWaiting: sendParent(
      ({ context }): ToolCallReport => ({
        type: 'call.waits',
        callId: context.callId,
        wait: { for: 'approval', argumentsHash: context.argumentsHash ?? '' },
        ...(context.attempt > 1 && { isRunning: true }),
      }),
    ),
    reportInterrupted: sendParent(
      ({ context }): ToolCallReport => ({
        type: 'call.waits',
        callId: context.callId,
        wait: { for: 'settlement' },
      }),
    ),
    reportWorking: sendParent(
      ({ context, event }): ToolCallReport => ({
        type: 'call.works',
        callId: context.callId,
        isRunning: mayHaveActed(context, event),
      }),
    ),
    reportRunning: sendParent(
      ({ context }): ToolCallReport => ({
        type: 'call.works',
        callId: context.callId,
        isRunning: true,
      }),
    ),
  },
}).createMachine({
  id: 'tool-call',
  description: 'One tool use, from the request of the model to the result that answers it.',
  context: startToolCall,
  output: outcomeOf,
  initial: 'validate',
  states: {
    validate: {
      description: 'Do the arguments fit the schema of the tool?',
      tags: 'busy',
      invoke: {
        id: 'validateInput',
        src: 'validateInput',
        input: callRef,
        onDone: [
          { guard: 'isInvalid', target: 'settled', actions: 'answerProblem' },
          { target: 'checkPermission' },
        ],
        onError: { target: 'settled', actions: 'answerUnrun' },
      },
    },
    checkPermission: {
      description: 'Deny beats ask beats allow. A policy that throws denies.',
      tags: 'busy',
      invoke: {
        id: 'checkPermission',
        src: 'checkPermission',
        input: callRef,
        onDone: [
          { guard: 'isAllowed', target: 'awaitSlot' },
          { guard: 'needsApproval', target: 'awaitApproval', actions: 'bindArguments' },
          { target: 'settled', actions: 'answerVerdict' },
        ],
        onError: { target: 'settled', actions: 'answerUnrun' },
      },
    },
    awaitApproval: {
      description: 'A person decides. Bound to exactly these arguments and this tool.',
      tags: 'waitsForHuman',
      entry: 'reportWaiting',
      exit: 'reportWorking',
      on: {
        'actor.restored': { actions: 'reportWaiting' },
        'approval.granted': {
          guard: 'isForTheseArguments',
          target: 'awaitSlot',
          actions: 'approve',
        },
        'approval.denied': { target: 'settled', actions: 'answerDenial' },
      },
    },
    awaitSlot: {
      description: 'Waits until fewer calls run than may run at once.',
      tags: 'busy',
      invoke: {
        id: 'slot',
        src: 'slot',
        input: callRef,
        onDone: 'run',
        onError: { target: 'settled', actions: 'answerError' },
      },
    },
    run: {
      description: 'Being saved in this state is the record that the call began.',
      tags: 'busy',
      entry: 'reportRunning',
      on: { 'actor.restored': { actions: 'reportRunning' } },
      invoke: {
        id: 'runTool',
        src: 'runTool',
        input: callRef,
        onDone: [
          { guard: 'isStale', target: 'awaitApproval', actions: 'bindArguments' },
          { guard: 'mustAskAPerson', target: 'interrupted' },
          { guard: 'isLost', target: 'awaitSlot', actions: 'countAttempt' },
          { guard: 'mayRetry', target: 'backOff', actions: 'planRetry' },
          { target: 'settled', actions: 'takeResult' },
        ],
        onError: { target: 'settled', actions: 'answerError' },
      },
    },
    backOff: {
      description: 'The tool failed and may try again. Never reached by a tool declared `once`.',
      tags: 'busy',
      invoke: {
        id: 'until',
        src: 'until',
        input: untilInput,
        onDone: 'awaitSlot',
        onError: { target: 'settled', actions: 'answerError' },
      },
    },
    interrupted: {
      description:
        'Nobody knows whether the call acted. A person says what happened, or lets it run again.',
      tags: 'waitsForHuman',
      entry: 'reportInterrupted',
      exit: 'reportWorking',
      on: {
        'actor.restored': { actions: 'reportInterrupted' },
        'call.settled': { target: 'settled', actions: 'takeSettlement' },
        'call.retried': { target: 'awaitSlot', actions: 'countAttempt' },
      },
    },
    settled: {
      description: 'The tool use has its answer, which goes to the run.',
      type: 'final',
    },
  },
});

/** The event that a guard or action is only ever used with. */
const as = <Type extends Event['type']>(event: Event, _type: Type) =>
  event as Extract<Event, { type: Type }>;

const runOutcome = (event: Event): RunOutcome => as(event, 'xstate.done.actor.runTool').output;

const answer = (
  { outcome }: ToolCallContext,
  result: ToolResult | null,
  ending: ToolEnding,
): ToolOutcome => ({ ...outcome, result: result ?? outcome.result, ending });

const denial = ({ callId }: ToolCallContext, reason: string | null): ToolResult =>
  errorResult(
    callId,
    reason?.trim() ? `Denied by a person: ${reason}` : 'Denied by a person. No reason was given.',
  );

const denialOf = (verdict: Verdict): ToolResult | null =>
  verdict.kind === 'deny' ? verdict.result : null;

const settlement = (
  { callId }: ToolCallContext,
  { content, isError }: Extract<ToolCallEvent, { type: 'call.settled' }>,
): ToolResult =>
  isError
    ? errorResult(callId, textOrNull(content) || 'The call failed.')
    : { type: 'tool_result', tool_use_id: callId, content: textOrNull(content) ?? '' };

function hashIn(event: Event): string | null {
  const { output } = event as DoneActorEvent<Verdict | RunOutcome>;
  return output.kind === 'ask' || output.kind === 'stale' ? output.argumentsHash : null;
}

function resultIn(event: Event): ToolResult | null {
  const outcome = runOutcome(event);
  return 'result' in outcome ? outcome.result : null;
}

function endingIn(event: Event): ToolEnding {
  const outcome = runOutcome(event);
  if (outcome.kind === 'notRun') return outcome.ending;
  return outcome.kind === 'done' ? 'done' : 'failed';
}

/** An attempt before the one that waits: it was lost, or a person is asked what became of it. */
const mayHaveActed = ({ attempt }: ToolCallContext, { type }: Event): boolean =>
  attempt > 1 || type === 'call.settled' || type === 'call.retried';

/** Known only when the first attempt gave a result: what others spent before they failed, nobody knows. */
function costIn({ attempt }: ToolCallContext, event: Event): number | null {
  const outcome = runOutcome(event);
  return outcome.kind === 'done' && attempt === 1 ? outcome.costMicros : null;
}

function retryAtIn(event: Event): number {
  const outcome = runOutcome(event);
  return outcome.kind === 'failed' ? outcome.retryAt : 0;
}
