/**
 * One tool use: from the model's request to the result that answers it.
 *
 * Holds no payload: the tool's input stays in the run's transcript, effects look it up by `callId`. That keeps
 * checkpoints small and hostile input out of them.
 */
import { assign, sendParent, setup } from 'xstate';
import { errorResult } from '../src/core/message.ts';
import type {
  ProbeOutcome,
  RunOutcome,
  ToolOutcome,
  Validation,
  Verdict,
} from '../src/core/tool-call.ts';
import { notProvided } from './not-provided.ts';
import * as events from './tool-call-events.ts';

const startToolCall = ({ input }: { input: events.ToolCallInput }): events.ToolCallContext => ({
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
const outcomeOf = ({ context }: { context: events.ToolCallContext }): ToolOutcome =>
  context.outcome;
const callRef = ({ context }: { context: events.ToolCallContext }): events.ToolCallRef => ({
  callId: context.callId,
  attempt: context.attempt,
  approvedHash: context.isApproved ? context.argumentsHash : null,
});
const untilInput = ({ context }: { context: events.ToolCallContext }) => ({ at: context.retryAt });

export const toolCall = setup({
  types: {
    context: {} as events.ToolCallContext,
    events: {} as events.Event,
    input: {} as events.ToolCallInput,
    output: {} as ToolOutcome,
    tags: {} as 'busy' | 'waitsForHuman',
  },
  actors: {
    validateInput: notProvided<Validation, events.ToolCallRef>('validateInput'),
    checkPermission: notProvided<Verdict, events.ToolCallRef>('checkPermission'),
    slot: notProvided<void, events.ToolCallRef>('slot'),
    runTool: notProvided<RunOutcome, events.ToolCallRef>('runTool'),
    probeTool: notProvided<ProbeOutcome, events.ToolCallRef>('probeTool'),
    until: notProvided<void, { readonly at: number }>('until'),
  },
  guards: {
    isInvalid: ({ event }) =>
      events.as(event, 'xstate.done.actor.validateInput').output.problem !== null,
    isAllowed: ({ event }) =>
      events.as(event, 'xstate.done.actor.checkPermission').output.kind === 'allow',
    needsApproval: ({ event }) =>
      events.as(event, 'xstate.done.actor.checkPermission').output.kind === 'ask',
    isForTheseArguments: ({ context, event }) =>
      events.as(event, 'approval.granted').argumentsHash === context.argumentsHash,
    isStale: ({ event }) => events.runOutcome(event).kind === 'stale',
    isLost: ({ event }) => events.runOutcome(event).kind === 'lost',
    isLostOnce: ({ context, event }) =>
      events.runOutcome(event).kind === 'lost' && context.effect === 'once',
    mayRetry: ({ context, event }) =>
      events.runOutcome(event).kind === 'failed' && context.attempt <= context.maxRetries,
    hasHappened: ({ event }) => events.probeOutcome(event).kind === 'happened',
    hasNotHappened: ({ event }) => events.probeOutcome(event).kind === 'notHappened',
    isProbeLost: ({ event }) => events.probeOutcome(event).kind === 'lost',
    mayReport: ({ context }) => context.onInterrupted === 'report',
  },
  actions: {
    answerProblem: assign(({ context, event }) => ({ outcome: events.malformed(context, event) })),
    answerVerdict: assign(({ context, event }) => ({
      outcome: events.deniedByPolicy(context, event),
    })),
    answerError: assign(({ context, event }) => ({ outcome: events.broken(context, event) })),
    answerUnrun: assign(({ context, event }) => ({ outcome: events.brokenBefore(context, event) })),
    answerDenial: assign(({ context, event }) => ({
      outcome: events.deniedByPerson(context, event),
    })),
    answerUnknown: assign(({ context, event }) => ({ outcome: events.unknown(context, event) })),
    takeSettlement: assign(({ context, event }) => ({
      outcome: events.settledByPerson(context, event),
    })),
    takeResult: assign(({ context, event }) => ({ outcome: events.ran(context, event) })),
    takeFinding: assign(({ context, event }) => ({ outcome: events.found(context, event) })),
    bindArguments: assign(({ event }) => ({
      argumentsHash: events.hashIn(event),
      isApproved: false,
    })),
    approve: assign({ isApproved: true }),
    countAttempt: assign(({ context }) => ({ attempt: context.attempt + 1 })),
    planRetry: assign(({ context, event }) => ({
      attempt: context.attempt + 1,
      retryAt: events.retryAtIn(event),
    })),
    reportWaiting: sendParent(
      ({ context }): events.ToolCallReport => ({
        type: 'call.waits',
        callId: context.callId,
        wait: { for: 'approval', argumentsHash: context.argumentsHash ?? '' },
        ...(context.attempt > 1 && { isRunning: true }),
      }),
    ),
    reportInterrupted: sendParent(
      ({ context }): events.ToolCallReport => ({
        type: 'call.waits',
        callId: context.callId,
        wait: { for: 'settlement' },
      }),
    ),
    reportWorking: sendParent(
      ({ context, event }): events.ToolCallReport => ({
        type: 'call.works',
        callId: context.callId,
        isRunning: events.mayHaveActed(context, event),
      }),
    ),
    reportRunning: sendParent(
      ({ context }): events.ToolCallReport => ({
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
          { guard: 'isLostOnce', target: 'probe' },
          { guard: 'isLost', target: 'awaitSlot', actions: 'countAttempt' },
          { guard: 'mayRetry', target: 'backOff', actions: 'planRetry' },
          { target: 'settled', actions: 'takeResult' },
        ],
        onError: { target: 'settled', actions: 'answerError' },
      },
    },
    probe: {
      description:
        'Nobody knows whether the call acted. Its tool may be able to find out, without acting.',
      tags: 'busy',
      on: { 'actor.restored': { actions: 'reportRunning' } },
      invoke: {
        id: 'probeTool',
        src: 'probeTool',
        input: callRef,
        onDone: [
          { guard: 'hasHappened', target: 'settled', actions: 'takeFinding' },
          { guard: 'hasNotHappened', target: 'awaitSlot', actions: 'countAttempt' },
          { guard: 'isProbeLost', target: 'probe', reenter: true },
          { guard: 'mayReport', target: 'settled', actions: 'answerUnknown' },
          { target: 'interrupted' },
        ],
        onError: [
          { guard: 'mayReport', target: 'settled', actions: 'answerUnknown' },
          { target: 'interrupted' },
        ],
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
        'Not even its tool knows whether the call acted. A person says what happened, or lets it run again.',
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
