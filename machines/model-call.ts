/**
 * One model call: its attempts, the waits between them, and the fallback models.
 *
 * Holds no messages: the effect reads them from the run. The run reserves what one attempt may cost; an attempt that
 * may have been billed, or another model, needs a reservation of its own, so the call ends with `again` and the run
 * decides anew. This is the only place where model calls are retried.
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import type { AttemptOutcome, AttemptPlan, ModelOutcome } from '../src/core/reply.ts';
import { describeThrown } from '../src/core/stringify.ts';
import { notProvided } from './not-provided.ts';

/** What to ask for. The messages stay in the run's transcript. */
export interface ModelAsk {
  readonly kind: 'turn' | 'wrapUp';
  readonly turn: number;
}

export interface ModelCallInput {
  readonly ask: ModelAsk;
  readonly plan: AttemptPlan;
  readonly maxRetries: number;
  /** How many models there are: the first choice and its fallbacks. */
  readonly models: number;
}

export interface AttemptInput extends ModelAsk, AttemptPlan {}

export interface ModelCallContext extends ModelCallInput {
  readonly outcome: ModelOutcome;
}

type Event =
  | DoneActorEvent<AttemptOutcome, 'attempt'>
  | ErrorActorEvent<unknown, 'attempt'>
  | DoneActorEvent<void, 'until'>
  | ErrorActorEvent<unknown, 'until'>;

const startModelCall = ({ input }: { input: ModelCallInput }): ModelCallContext => ({
  ...input,
  outcome: { kind: 'lost', activeMs: 0 },
});
const outcomeOf = ({ context }: { context: ModelCallContext }): ModelOutcome => context.outcome;
const attemptInput = ({ context: { ask, plan } }: { context: ModelCallContext }): AttemptInput => ({
  ...ask,
  ...plan,
});
const untilInput = ({ context }: { context: ModelCallContext }) => ({ at: context.plan.retryAt });

export const modelCall = setup({
  types: {
    context: {} as ModelCallContext,
    events: {} as Event,
    input: {} as ModelCallInput,
    output: {} as ModelOutcome,
    tags: {} as 'busy',
  },
  actors: {
    attempt: notProvided<AttemptOutcome, AttemptInput>('attempt'),
    until: notProvided<void, { readonly at: number }>('until'),
  },
  guards: {
    mustWait: ({ context }) => context.plan.retryAt > 0,
    isOver: ({ event }) => attemptOutcome(event).kind !== 'failed',
    mayRetry: ({ context, event }) =>
      isRetryable(attemptOutcome(event)) && context.plan.attempt <= context.maxRetries,
    mayRetryUnbilled: ({ context, event }) =>
      isRetryable(attemptOutcome(event)) &&
      !mayHaveBilled(attemptOutcome(event)) &&
      context.plan.attempt <= context.maxRetries,
    hasFallback: ({ context, event }) =>
      isRetryable(attemptOutcome(event)) && context.plan.model + 1 < context.models,
  },
  actions: {
    takeOutcome: assign(({ event }) => ({ outcome: attemptOutcome(event) })),
    takeError: assign(({ event }) => ({ outcome: brokenAttempt(event) })),
    planRetry: assign(({ context, event }) => ({ plan: nextAttempt(context.plan, event) })),
    askForRetry: assign(({ context, event }) => ({
      outcome: again(nextAttempt(context.plan, event), event),
    })),
    askForFallback: assign(({ context, event }) => ({
      outcome: again(fallback(context.plan), event),
    })),
  },
}).createMachine({
  id: 'model-call',
  description:
    'One model call with its attempts. Every state of the run that needs the model uses it.',
  context: startModelCall,
  output: outcomeOf,
  initial: 'plan',
  states: {
    plan: {
      description: 'A call that goes on after a wait begins with it.',
      always: [{ guard: 'mustWait', target: 'backOff' }, { target: 'attempt' }],
    },
    attempt: {
      description: 'One request to the provider.',
      tags: 'busy',
      invoke: {
        id: 'attempt',
        src: 'attempt',
        input: attemptInput,
        onDone: [
          { guard: 'isOver', target: 'settled', actions: 'takeOutcome' },
          { guard: 'mayRetryUnbilled', target: 'backOff', actions: 'planRetry' },
          { guard: 'mayRetry', target: 'settled', actions: 'askForRetry' },
          { guard: 'hasFallback', target: 'settled', actions: 'askForFallback' },
          { target: 'settled', actions: 'takeOutcome' },
        ],
        onError: { target: 'settled', actions: 'takeError' },
      },
    },
    backOff: {
      description: 'Waits as long as the server said, or longer each time, with jitter.',
      tags: 'busy',
      invoke: {
        id: 'until',
        src: 'until',
        input: untilInput,
        onDone: 'attempt',
        onError: { target: 'settled', actions: 'takeError' },
      },
    },
    settled: {
      description: 'What came of the call goes to the run, which decides what follows.',
      type: 'final',
    },
  },
});

const attemptOutcome = (event: Event): AttemptOutcome =>
  (event as DoneActorEvent<AttemptOutcome, 'attempt'>).output;

const isRetryable = (outcome: AttemptOutcome): boolean =>
  outcome.kind === 'failed' && outcome.isRetryable;

const mayHaveBilled = (outcome: AttemptOutcome): boolean =>
  outcome.kind === 'failed' && outcome.mayHaveBilled;

function nextAttempt(plan: AttemptPlan, event: Event): AttemptPlan {
  const outcome = attemptOutcome(event);
  if (outcome.kind !== 'failed') return plan;
  return {
    ...plan,
    attempt: plan.attempt + 1,
    streams: plan.streams && !outcome.isStreamTrouble,
    retryAt: outcome.retryAt,
  };
}

const fallback = ({ model }: AttemptPlan): AttemptPlan => ({
  attempt: 1,
  model: model + 1,
  streams: true,
  retryAt: 0,
});

const again = (plan: AttemptPlan, event: Event): ModelOutcome => ({
  kind: 'again',
  plan,
  activeMs: attemptOutcome(event).activeMs,
  mayHaveBilled: mayHaveBilled(attemptOutcome(event)),
});

/** An effect that threw instead of answering: a defect, or an effect that was not provided. */
const brokenAttempt = (event: Event): ModelOutcome => ({
  kind: 'failed',
  activeMs: 0,
  failure: { code: 'internal', message: describeThrown((event as ErrorActorEvent<unknown>).error) },
  isRetryable: false,
  mayHaveBilled: true,
  isStreamTrouble: false,
  retryAt: 0,
});
