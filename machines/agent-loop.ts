/**
 * The agent loop: one run, from the first message to a final state.
 *
 * This file only decides. It starts no I/O and reads no clock: guards and actions are pure steps from `src/core`,
 * effects are named here and get their bodies in `src/runtime`. Everything in context is plain JSON.
 * Picture: visualizations/agent-loop.svg, generated from this file.
 */
import { assign, type DoneActorEvent, enqueueActions, sendTo, setup, stopChild } from 'xstate';
import * as calls from '../src/core/call-steps.ts';
import { readMeter } from '../src/core/ledger.ts';
import * as model from '../src/core/model-steps.ts';
import * as routing from '../src/core/routing.ts';
import {
  type EndStatus,
  outputOf,
  type RunContext,
  type RunInput,
  type RunOutput,
  startContext,
} from '../src/core/run-context.ts';
import * as spending from '../src/core/spending.ts';
import * as events from './agent-loop-events.ts';
import { modelCall } from './model-call.ts';
import { notProvided } from './not-provided.ts';
import { blocksIn, isWait, textOrNull } from './received.ts';
import { toolCall } from './tool-call.ts';
import type { ToolCallEvent } from './tool-call-events.ts';

const startRun = ({ input }: { input: RunInput }): RunContext => startContext(input);
const runOutput = ({ context }: { context: RunContext }): RunOutput => outputOf(context);
const turnInput = ({ context }: { context: RunContext }) => events.callInput(context, 'turn');
const wrapUpInput = ({ context }: { context: RunContext }) => events.callInput(context, 'wrapUp');
const compactInput = ({ context }: { context: RunContext }) => ({ turn: context.turn });

export const agentLoop = setup({
  types: {
    context: {} as RunContext,
    events: {} as events.Event,
    input: {} as RunInput,
    output: {} as RunOutput,
    emitted: {} as events.AgentLoopEmitted,
    tags: {} as 'busy' | 'waitsForHuman',
    children: {} as { modelCall: 'modelCall'; compact: 'compact' },
  },
  actors: {
    modelCall,
    toolCall,
    compact: notProvided<events.Compaction, { readonly turn: number }>('compact'),
    until: notProvided<void, { readonly at: number }>('until'),
  },
  guards: {
    mayPause: ({ context }) => spending.mayPause(context),
    mayWrapUp: ({ context }) =>
      context.settings.onLimit === 'wrapUp' &&
      spending.limitReached(context) !== null &&
      spending.canWrapUp(context),
    mayAskForBudget: ({ context }) =>
      context.settings.onLimit === 'ask' && spending.limitReached(context) !== null,
    isOverBudget: ({ context }) => spending.limitReached(context) !== null,
    isTooLarge: ({ context }) =>
      routing.canCompact(context) &&
      spending.inputAtMost(context) > (context.settings.compactAtTokens ?? Number.MAX_VALUE),
    isReply: ({ event }) => events.modelOutcome(event).kind === 'reply',
    isLost: ({ event }) => events.modelOutcome(event).kind === 'lost',
    isToBeRepeated: ({ event }) => events.modelOutcome(event).kind === 'again',
    isPromptTooLong: ({ context, event }) =>
      events.failureCode(event) === 'context_exceeded' && routing.canCompact(context),
    isRefusal: ({ context }) => routing.isRefusal(context),
    wantsTools: ({ context }) => context.calls.length > 0,
    mayCompact: ({ context }) => routing.isContextFull(context) && routing.canCompact(context),
    isContextFull: ({ context }) => routing.isContextFull(context),
    isTextCut: ({ context }) => routing.isTextCut(context),
    mayContinue: ({ context }) =>
      routing.needsContinuation(context) && routing.mayContinue(context),
    needsContinuation: ({ context }) => routing.needsContinuation(context),
    hasMoreToSay: ({ context }) => routing.hasMoreToSay(context),
    isApprovable: ({ context, event }) =>
      calls.isApprovable(
        context,
        events.as(event, 'approval.granted').callId,
        events.as(event, 'approval.granted').argumentsHash,
      ),
    awaitsApproval: ({ context, event }) =>
      calls.isWaitingFor(context, (event as ToolCallEvent).callId, 'approval'),
    awaitsSettlement: ({ context, event }) =>
      calls.isWaitingFor(context, (event as ToolCallEvent).callId, 'settlement'),
    isOnlyWaiting: ({ context }) => calls.isOnlyWaiting(context),
    isWorking: ({ context }) => !calls.isOnlyWaiting(context),
    areAllSettled: ({ context }) => calls.openCalls(context).length === 0,
  },
  actions: {
    beginTurn: assign(({ context }) => model.beginModelCall(context, 'turn')),
    beginWrapUp: assign(({ context }) => model.beginModelCall(context, 'wrapUp')),
    takeReply: assign(({ context, event }) => events.takeReply(context, event)),
    chargeModelCall: assign(({ context }) => model.chargeModelCall(context)),
    settleFailedCall: assign(({ context, event }) =>
      events.mayHaveBilled(event)
        ? model.chargeModelCall(context)
        : model.releaseModelCall(context),
    ),
    planAgain: assign(({ context, event }) => events.planAgain(context, event)),
    admitCalls: assign(({ context }) => calls.admitCalls(context)),
    countContinuation: assign(({ context }) => ({ continuations: context.continuations + 1 })),
    askToGoOn: assign(({ context }) => model.askToGoOn(context)),
    keepFailure: assign(({ event }) => ({ failure: events.failureIn(event) })),
    keepLimit: assign(({ context }) => ({ limit: spending.limitReached(context) })),
    keepCut: assign(({ context }) => ({ limit: spending.cutBy(context) })),
    keepFullWindow: assign(({ context }) => ({ limit: spending.windowReached(context) })),
    keepContinuations: assign(({ context }) => ({
      limit: routing.continuationsReached(context),
    })),
    readMeter: assign(({ context, event }) => ({
      ledger: readMeter(context.ledger, events.meterReading(event)),
    })),
    readClock: assign(({ context }) => events.readClock(context)),
    raiseBudget: assign(({ context, event }) => events.raiseBudget(context, event)),
    queueSteering: assign(({ context, event }) => ({
      steered: [...context.steered, ...blocksIn(events.as(event, 'message.steered').content)],
    })),
    takeCompaction: assign(({ context, event }) => events.takeCompaction(context, event)),
    wantPause: assign({ isPauseWanted: true }),
    unwantPause: assign({ isPauseWanted: false }),
    settleCall: assign(({ context, event }) =>
      calls.settleCall(context, events.toolOutcome(event)),
    ),
    closeCalls: assign(({ context, event }) => calls.closeCalls(context, events.whyStopped(event))),
    noteWait: assign(({ context, event }) => events.noteWait(context, event)),
    noteWork: assign(({ context, event }) =>
      calls.noteWork(
        context,
        events.as(event, 'call.works').callId,
        events.as(event, 'call.works').isRunning,
      ),
    ),
    noteDecision: assign(({ context, event }) =>
      calls.noteDecision(context, (event as ToolCallEvent).callId),
    ),
    noteEdit: assign(({ context, event }) =>
      calls.noteEdit(
        context,
        events.as(event, 'approval.granted').callId,
        events.as(event, 'approval.granted').input ?? null,
      ),
    ),
    keepReason: assign(({ event }) => ({
      cancelReason: textOrNull(events.as(event, 'run.cancelled').reason),
    })),
    endAs: assign(({ context }, { status }: { status: EndStatus }) => ({
      ...model.joinSteered(context),
      status,
    })),
    askPerson: enqueueActions(({ event, enqueue }) => {
      const report = events.as(event, 'call.waits');
      if (isWait(report.wait)) enqueue.emit(report);
    }),
    warnNearLimits: enqueueActions(({ context, enqueue }) => {
      const near = spending.newWarnings(context);
      for (const limit of near) enqueue.emit({ type: 'limit.near', limit });
      if (near.length > 0) {
        enqueue.assign({ warned: [...context.warned, ...near.map(({ name }) => name)] });
      }
    }),
    watchDeadline: enqueueActions(({ context, event, enqueue }) => {
      const at = events.deadlineToWatch(context, event);
      enqueue.stopChild('deadline');
      if (at !== null) enqueue.spawnChild('until', { id: 'deadline', input: { at } });
    }),
    leaveDeadline: stopChild('deadline'),
    passToCall: sendTo(
      ({ event }) => `tool.${(event as ToolCallEvent).callId}`,
      ({ event }) => events.withoutInput(event as ToolCallEvent),
    ),
    startCalls: enqueueActions(({ context, enqueue }) => {
      for (const call of calls.openCalls(context)) {
        const input = { callId: call.id, ...calls.callPolicy(context, call) };
        enqueue.spawnChild('toolCall', { id: `tool.${call.id}`, input });
      }
    }),
    stopCall: stopChild(({ event }) => (event as DoneActorEvent).actorId),
    stopCalls: enqueueActions(({ context, enqueue }) => {
      for (const { id } of calls.openCalls(context)) enqueue.stopChild(`tool.${id}`);
    }),
  },
}).createMachine({
  id: 'agent-loop',
  description: 'One run of an agent: call the model, route what it asks for, execute tools, again.',
  context: startRun,
  output: runOutput,
  entry: 'watchDeadline',
  exit: 'leaveDeadline',
  on: { 'actor.restored': { actions: 'watchDeadline' } },
  initial: 'active',
  states: {
    active: {
      description: 'The run goes on, one turn after another.',
      initial: 'checkBudget',
      on: {
        'message.steered': { actions: 'queueSteering' },
        'budget.raised': { actions: ['raiseBudget', 'watchDeadline'] },
        'run.paused': { actions: 'wantPause' },
        'run.resumed': { actions: 'unwantPause' },
        'run.cancelled': { target: 'cancelled', actions: 'keepReason' },
        'time.ranOut': {
          description: 'From the meter of active time.',
          target: '.checkBudget',
          actions: ['readMeter', 'chargeModelCall', 'closeCalls'],
        },
        'xstate.done.actor.deadline': {
          description: 'The time that the budget names has come.',
          target: '.checkBudget',
          actions: ['readClock', 'leaveDeadline', 'chargeModelCall', 'closeCalls'],
        },
      },
      states: {
        checkBudget: {
          description:
            'May the run make another model call? What it could cost at worst has to fit.',
          always: [
            { guard: 'mayPause', target: '#agent-loop.paused' },
            { guard: 'mayWrapUp', target: 'wrapUp', actions: 'keepLimit' },
            { guard: 'mayAskForBudget', target: 'awaitBudget', actions: 'keepLimit' },
            { guard: 'isOverBudget', target: '#agent-loop.exhausted', actions: 'keepLimit' },
            { guard: 'isTooLarge', target: 'compactContext' },
            { target: 'callModel' },
          ],
        },
        compactContext: {
          description:
            'Says the transcript again in fewer tokens, so that it fits the context window.',
          tags: 'busy',
          invoke: {
            id: 'compact',
            src: 'compact',
            input: compactInput,
            onDone: { target: 'checkBudget', actions: 'takeCompaction' },
            onError: { target: '#agent-loop.failed', actions: 'keepFailure' },
          },
        },
        callModel: {
          description: 'Asks the model for the next reply. Its worst case is reserved first.',
          tags: 'busy',
          entry: ['beginTurn', 'warnNearLimits'],
          invoke: {
            id: 'modelCall',
            src: 'modelCall',
            input: turnInput,
            onDone: [
              { guard: 'isReply', target: 'routeToolUse', actions: ['takeReply', 'admitCalls'] },
              { guard: 'isLost', target: 'checkBudget', actions: ['readMeter', 'chargeModelCall'] },
              {
                guard: 'isToBeRepeated',
                target: 'checkBudget',
                actions: ['readMeter', 'planAgain'],
              },
              {
                guard: 'isPromptTooLong',
                target: 'compactContext',
                actions: ['readMeter', 'settleFailedCall'],
              },
              {
                target: '#agent-loop.failed',
                actions: ['readMeter', 'settleFailedCall', 'keepFailure'],
              },
            ],
            onError: { target: '#agent-loop.failed', actions: 'keepFailure' },
          },
        },
        routeToolUse: {
          description:
            'Where does the reply lead? Decided by its stop reason; unknown ones end the turn.',
          always: [
            { guard: 'isRefusal', target: '#agent-loop.refused' },
            { guard: 'wantsTools', target: 'executeTools' },
            {
              guard: 'mayCompact',
              target: 'compactContext',
              actions: ['countContinuation', 'askToGoOn'],
            },
            { guard: 'isContextFull', target: '#agent-loop.exhausted', actions: 'keepFullWindow' },
            { guard: 'isTextCut', target: '#agent-loop.exhausted', actions: 'keepCut' },
            {
              guard: 'mayContinue',
              target: 'checkBudget',
              actions: ['countContinuation', 'askToGoOn'],
            },
            {
              guard: 'needsContinuation',
              target: '#agent-loop.exhausted',
              actions: 'keepContinuations',
            },
            { guard: 'hasMoreToSay', target: 'checkBudget' },
            { target: '#agent-loop.completed' },
          ],
        },
        executeTools: {
          description:
            'One child machine per tool use. Results go back together, in one user message.',
          entry: 'startCalls',
          exit: 'stopCalls',
          on: {
            'xstate.done.actor.tool.*': { actions: ['settleCall', 'stopCall'] },
            'xstate.error.actor.tool.*': { actions: ['settleCall', 'stopCall'] },
            'call.waits': { actions: ['noteWait', 'askPerson'] },
            'call.works': { actions: 'noteWork' },
            'approval.granted': {
              guard: 'isApprovable',
              actions: ['noteDecision', 'noteEdit', 'passToCall'],
            },
            'approval.denied': { guard: 'awaitsApproval', actions: ['noteDecision', 'passToCall'] },
            'call.settled': { guard: 'awaitsSettlement', actions: ['noteDecision', 'passToCall'] },
            'call.retried': { guard: 'awaitsSettlement', actions: ['noteDecision', 'passToCall'] },
          },
          always: { guard: 'areAllSettled', target: 'checkBudget', actions: 'closeCalls' },
          initial: 'working',
          states: {
            working: {
              description: 'At least one open call goes on by itself.',
              tags: 'busy',
              always: { guard: 'isOnlyWaiting', target: 'waiting' },
            },
            waiting: {
              description: 'Every open call waits for a person.',
              tags: 'waitsForHuman',
              always: { guard: 'isWorking', target: 'working' },
            },
          },
        },
        wrapUp: {
          description: 'One last answer without tools, paid from what was held back for it.',
          tags: 'busy',
          entry: 'beginWrapUp',
          on: {
            'xstate.done.actor.deadline': {
              description: 'The last answer is under way already.',
              actions: ['readClock', 'leaveDeadline'],
            },
          },
          invoke: {
            id: 'modelCall',
            src: 'modelCall',
            input: wrapUpInput,
            onDone: [
              { guard: 'isReply', target: '#agent-loop.exhausted', actions: 'takeReply' },
              { target: '#agent-loop.exhausted', actions: ['readMeter', 'settleFailedCall'] },
            ],
            onError: { target: '#agent-loop.exhausted', actions: 'chargeModelCall' },
          },
        },
        awaitBudget: {
          description: 'A limit was reached. A person raises it, or cancels.',
          tags: 'waitsForHuman',
          on: {
            'budget.raised': { target: 'checkBudget', actions: ['raiseBudget', 'watchDeadline'] },
          },
        },
      },
    },
    paused: {
      description: 'Paused between two turns; nothing runs.',
      tags: 'waitsForHuman',
      on: {
        'message.steered': { actions: 'queueSteering' },
        'budget.raised': { actions: ['raiseBudget', 'watchDeadline'] },
        'xstate.done.actor.deadline': {
          description: 'A pause does not outlast the deadline.',
          target: 'active',
          actions: ['readClock', 'leaveDeadline'],
        },
        'run.resumed': { target: 'active', actions: 'unwantPause' },
        'run.cancelled': { target: 'cancelled', actions: 'keepReason' },
      },
    },
    completed: {
      description: 'The model gave its answer.',
      type: 'final',
      entry: { type: 'endAs', params: { status: 'completed' } },
    },
    exhausted: {
      description: 'A limit was reached: which one, and with what numbers, is in the output.',
      type: 'final',
      entry: ['closeCalls', { type: 'endAs', params: { status: 'exhausted' } }],
    },
    refused: {
      description: 'The model refused. The refused turn is not part of the history.',
      type: 'final',
      entry: { type: 'endAs', params: { status: 'refused' } },
    },
    failed: {
      description: 'A model call failed for good.',
      type: 'final',
      entry: ['chargeModelCall', 'closeCalls', { type: 'endAs', params: { status: 'failed' } }],
    },
    cancelled: {
      description: 'Somebody stopped the run. Open calls are answered, the history stays valid.',
      type: 'final',
      entry: ['chargeModelCall', 'closeCalls', { type: 'endAs', params: { status: 'cancelled' } }],
    },
  },
});
