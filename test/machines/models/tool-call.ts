import type { EventFrom, SnapshotFrom } from 'xstate';
import { toolCall } from '../../../machines/tool-call.ts';
import { answered } from '../samples.ts';
import {
  type Configuration,
  type Invariants,
  isAlive,
  isEnd,
  type Model,
  type StepInvariants,
} from './model.ts';

type Tool = typeof toolCall;
type ToolSnapshot = SnapshotFrom<Tool>;
type ToolEvent = EventFrom<Tool>;

const toolResult = answered('a').result;
const actorDone = (id: string, output?: unknown): ToolEvent =>
  ({ type: `xstate.done.actor.${id}`, actorId: id, output }) as ToolEvent;
const actorBroke = (id: string): ToolEvent => ({
  type: `xstate.error.actor.${id}`,
  actorId: id,
  error: new Error('broken'),
});

const probeOutputs: readonly unknown[] = [
  { kind: 'happened', activeMs: 1, result: toolResult, costMicros: 1 },
  { kind: 'happened', activeMs: 1, result: toolResult, costMicros: null },
  { kind: 'notHappened', activeMs: 1 },
  { kind: 'unknown', activeMs: 1 },
  { kind: 'lost', activeMs: 1 },
];

const outputsOf = new Map<string, readonly unknown[]>([
  ['validateInput', [{ problem: null }, { problem: toolResult }]],
  [
    'checkPermission',
    [
      { kind: 'allow' },
      { kind: 'ask', argumentsHash: 'hash' },
      { kind: 'deny', result: toolResult },
    ],
  ],
  ['slot', [undefined]],
  ['until', [undefined]],
  [
    'runTool',
    [
      { kind: 'done', activeMs: 1, result: toolResult, costMicros: 1 },
      { kind: 'failed', activeMs: 1, result: toolResult, retryAt: 5 },
      { kind: 'stale', activeMs: 1, argumentsHash: 'other' },
      { kind: 'lost', activeMs: 1 },
    ],
  ],
  ['probeTool', probeOutputs],
]);

const personEvents: readonly ToolEvent[] = [
  { type: 'approval.granted', callId: 'a', argumentsHash: 'hash' },
  { type: 'approval.granted', callId: 'a', argumentsHash: 'other' },
  { type: 'approval.denied', callId: 'a', reason: 'no' },
  { type: 'call.settled', callId: 'a', content: 'it was sent' },
  { type: 'call.settled', callId: 'a', content: '', isError: true },
  { type: 'actor.restored' },
];
const retried: ToolEvent = { type: 'call.retried', callId: 'a' };

/** Attempts are counted without end where crashes and retries are, so there the walk ends. */
const maxAttempt = 4;

const toolEvents = ({ children, context }: ToolSnapshot): readonly ToolEvent[] => [
  ...personEvents,
  ...(context.attempt < maxAttempt ? [retried] : []),
  ...Object.keys(children).flatMap((id) => [
    ...(outputsOf.get(id) ?? [])
      .filter((output) => context.attempt < maxAttempt || !isRepeat(output))
      .map((output) => actorDone(id, output)),
    actorBroke(id),
  ]),
];

const isRepeat = (output: unknown): boolean =>
  typeof output === 'object' &&
  output !== null &&
  'kind' in output &&
  (output.kind === 'lost' || output.kind === 'notHappened');

const configurations: readonly Configuration<Tool>[] = (
  [
    ['read', 'read', 'ask', 2, 100],
    ['idempotent', 'idempotent', 'ask', 2, 100],
    ['once, asks a person', 'once', 'ask', 0, 100],
    ['once, reports to the model', 'once', 'report', 0, 90],
  ] as const
).map(([name, effect, onInterrupted, maxRetries, floor]) => ({
  name,
  input: { callId: 'a', effect, maxRetries, onInterrupted },
  events: toolEvents,
  floor,
}));

const invariants: Invariants<Tool> = {
  'the actor is alive or done': isAlive,
  'it waits for a person exactly when no effect runs': (snapshot) =>
    isEnd(snapshot) ||
    snapshot.hasTag('waitsForHuman') === (Object.keys(snapshot.children).length === 0),
  'it is busy exactly when an effect runs': (snapshot) =>
    snapshot.hasTag('busy') === (!isEnd(snapshot) && Object.keys(snapshot.children).length === 1),
  'only a call of effect once is ever interrupted': ({ value, context }) =>
    value !== 'interrupted' || context.effect === 'once',
  'only a call of effect once is ever probed': ({ value, context }) =>
    value !== 'probe' || context.effect === 'once',
  'nobody is asked where the model is told': ({ value, context }) =>
    value !== 'interrupted' || context.onInterrupted === 'ask',
  'what may have been spent counts in full': ({ value, context: { outcome } }) =>
    value !== 'settled' || outcome.ending !== 'unknown' || outcome.costMicros === null,
  'an end is told with its reason': ({ value, context: { outcome } }) =>
    value !== 'settled' || outcome.ending !== 'notRun',
  'the result answers this call': ({ context: { outcome, callId } }) =>
    outcome.callId === callId && outcome.result.tool_use_id === callId,
  'a wait for an approval is bound to arguments': ({ value, context }) =>
    value !== 'awaitApproval' || (context.argumentsHash !== null && !context.isApproved),
};

const stepInvariants: StepInvariants<Tool> = {
  'a once call is attempted again only when a person or its tool says that it may be': ({
    from,
    event,
    to,
  }) =>
    from.context.effect !== 'once' ||
    to.context.attempt === from.context.attempt ||
    (event.type === 'call.retried' && from.value === 'interrupted') ||
    (isNotHappened(event) && from.value === 'probe'),
  'a once call that may have begun ends or is probed': ({ from, event, to }) =>
    from.context.effect !== 'once' ||
    from.value !== 'run' ||
    to.value === from.value ||
    isStale(event) ||
    to.value === 'settled' ||
    to.value === 'probe',
  'a probed call is asked about, settled, or known not to have happened': ({ from, event, to }) =>
    from.value !== 'probe' ||
    ['probe', 'settled', 'interrupted'].includes(String(to.value)) ||
    (to.value === 'awaitSlot' && isNotHappened(event)),
  'it leaves a wait only by the decision of a person': ({ from, event, to }) =>
    !from.hasTag('waitsForHuman') ||
    to.value === from.value ||
    /^(approval|call)\./.test(event.type),
  'an approval of other arguments changes nothing': ({ from, event, to }) =>
    event.type !== 'approval.granted' ||
    event.argumentsHash === from.context.argumentsHash ||
    to === from,
  'only an allowed or approved call gets to a slot': ({ from, to }) =>
    to.value !== 'awaitSlot' ||
    from.value === 'checkPermission' ||
    from.value === 'awaitSlot' ||
    from.value === 'run' ||
    from.value === 'backOff' ||
    from.value === 'probe' ||
    from.value === 'interrupted' ||
    (from.value === 'awaitApproval' && to.context.isApproved),
};

const isNotHappened = (event: ToolEvent): boolean =>
  event.type === 'xstate.done.actor.probeTool' && event.output.kind === 'notHappened';

const isStale = (event: ToolEvent): boolean =>
  event.type === 'xstate.done.actor.runTool' && event.output.kind === 'stale';

export const toolCallModel: Model<Tool> = {
  machine: toolCall,
  configurations,
  invariants,
  stepInvariants,
};
