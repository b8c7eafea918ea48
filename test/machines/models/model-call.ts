import type { EventFrom } from 'xstate';
import { modelCall } from '../../../machines/model-call.ts';
import { firstAttempt } from '../../../src/core/reply.ts';
import { failedWith, lost, says } from '../samples.ts';
import {
  type Configuration,
  type Invariants,
  isAlive,
  isEnd,
  type Model,
  type StepInvariants,
} from './model.ts';

type Call = typeof modelCall;
type CallEvent = EventFrom<Call>;

const attemptOutcomes = [
  says('done'),
  lost,
  failedWith('provider_auth'),
  ...[true, false].map((mayHaveBilled) =>
    failedWith('provider_overloaded', { isRetryable: true, mayHaveBilled, retryAt: 5 }),
  ),
  failedWith('stream_error', { isRetryable: true, isStreamTrouble: true }),
];

const configurations: readonly Configuration<Call>[] = (
  [
    ['one model', 1, 0, 40],
    ['two models', 2, 0, 40],
    ['two models, after a wait', 2, 5, 40],
  ] as const
).map(([name, models, retryAt, floor]) => ({
  name,
  input: {
    ask: { kind: 'turn', turn: 1 },
    plan: { ...firstAttempt, retryAt },
    maxRetries: 2,
    models,
  },
  events: ({ children }) => [
    ...(children.attempt
      ? [...attemptOutcomes.map((output) => callDone('attempt', output)), callBroke('attempt')]
      : []),
    ...(children.until ? [callDone('until'), callBroke('until')] : []),
  ],
  floor,
}));

const callDone = (id: string, output?: unknown): CallEvent =>
  ({ type: `xstate.done.actor.${id}`, actorId: id, output }) as CallEvent;
const callBroke = (id: string): CallEvent =>
  ({ type: `xstate.error.actor.${id}`, actorId: id, error: new Error('broken') }) as CallEvent;

const invariants: Invariants<Call> = {
  'the actor is alive or done': isAlive,
  'one effect runs until it has settled': (snapshot) =>
    isEnd(snapshot) || Object.keys(snapshot.children).length === 1,
  'an attempt is never one too many': ({ context: { plan, maxRetries } }) =>
    plan.attempt <= maxRetries + 1,
  'the model of the plan exists': ({ context: { plan, models } }) => plan.model < models,
  'the model asked again exists, in an attempt that is allowed': ({ context }) => {
    const { outcome, models, maxRetries } = context;
    if (outcome.kind !== 'again') return true;
    return outcome.plan.model < models && outcome.plan.attempt <= maxRetries + 1;
  },
  'a call is asked again only when another reservation is needed': ({ context }) =>
    context.outcome.kind !== 'again' ||
    context.outcome.mayHaveBilled ||
    context.outcome.plan.model !== context.plan.model,
};

const stepInvariants: StepInvariants<Call> = {
  'an attempt that may have been billed is never repeated without a new reservation': ({
    from,
    event,
    to,
  }) =>
    event.type !== 'xstate.done.actor.attempt' ||
    event.output.kind !== 'failed' ||
    !event.output.mayHaveBilled ||
    from.value !== 'attempt' ||
    to.value === 'settled',
  'no model is swapped within one reservation': ({ from, to }) =>
    from.context.plan.model === to.context.plan.model,
};

export const modelCallModel: Model<Call> = {
  machine: modelCall,
  configurations,
  invariants,
  stepInvariants,
};
