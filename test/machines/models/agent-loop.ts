/** What may happen to a run, in fifteen configurations, and what must hold in every state of it. */
import type { EventFrom, SnapshotFrom } from 'xstate';
import { agentLoop } from '../../../machines/agent-loop.ts';
import { isApprovable, openCalls } from '../../../src/core/call-steps.ts';
import { historyProblems, mergeNeighbours, repairHistory } from '../../../src/core/history.ts';
import { callsOf, committed, reservedFor, totalToolCalls } from '../../../src/core/ledger.ts';
import { errorResult, text, toolUsesIn, userMessage } from '../../../src/core/message.ts';
import type { AttemptPlan, ModelOutcome } from '../../../src/core/reply.ts';
import type { OnLimit } from '../../../src/core/run-context.ts';
import type { ToolCall } from '../../../src/core/tool-call.ts';
import {
  again,
  answered,
  asksFor,
  compactBroke,
  compactDone,
  deadlineDone,
  failedWith,
  lost,
  modelBroke,
  modelDone,
  reply,
  runInput,
  sampleModel,
  sampleTool,
  says,
  toolBroke,
  toolDone,
  toolUse,
  waitsForApproval,
  waitsForSettlement,
  works,
} from '../samples.ts';
import {
  type Configuration,
  type Invariants,
  isAlive,
  isEnd,
  type Model,
  type StepInvariants,
} from './model.ts';

type Loop = typeof agentLoop;
type LoopSnapshot = SnapshotFrom<Loop>;
type LoopEvent = EventFrom<Loop>;

const everyEnd: readonly ModelOutcome[] = [
  says('done'),
  says('done', 'stop_sequence'),
  says('part', 'max_tokens'),
  says('part', 'pause_turn'),
  says('part', 'compaction'),
  says('no', 'refusal'),
  says('part', 'model_context_window_exceeded'),
  says('done', 'unknown'),
  reply('end_turn'),
];
const everyUse: readonly ModelOutcome[] = [
  asksFor(toolUse('a', 'read')),
  asksFor(toolUse('a', 'mail'), toolUse('b', 'put')),
  asksFor(toolUse('a', 'nobody')),
  reply('max_tokens', toolUse('a', 'read')),
  reply('unknown', toolUse('a', 'mail')),
  reply('refusal', toolUse('a', 'mail')),
];
const everyFailure: readonly ModelOutcome[] = [
  lost,
  failedWith('provider_auth'),
  failedWith('stream_interrupted', { mayHaveBilled: true }),
  failedWith('context_exceeded'),
  again({ attempt: 2 }, false),
  again({ attempt: 2 }, true),
];
const everyOutcome = [...everyEnd, ...everyUse, ...everyFailure];

const usedUpMs = 1_000;

/** All that may happen to a run, as far as its state lets it. */
function loopEvents({
  outcomes = everyOutcome,
  raises = [],
  hasPeople = true,
  hasReports = true,
  mayRaise = ({ maxTurns }) => maxTurns === 2,
}: {
  readonly outcomes?: readonly ModelOutcome[];
  readonly raises?: readonly LoopEvent[];
  readonly hasPeople?: boolean;
  readonly hasReports?: boolean;
  readonly mayRaise?: (limits: LoopSnapshot['context']['ledger']['limits']) => boolean;
}): (snapshot: LoopSnapshot) => readonly LoopEvent[] {
  return ({ context, children }) => [
    { type: 'run.cancelled', reason: 'enough' },
    { type: 'time.ranOut', activeMs: usedUpMs },
    ...(hasPeople ? peopleEvents(context.turn, context.steered.length) : []),
    ...(mayRaise(context.ledger.limits) ? raises : []),
    ...(children.deadline ? [deadlineDone, { type: 'actor.restored' } as const] : []),
    ...(children.modelCall
      ? [...outcomes.filter((one) => isPossible(one, context.plan)).map(modelDone), modelBroke]
      : []),
    ...(children.compact ? compactEvents(context) : []),
    ...openCalls(context).flatMap((call) => callEvents(call, hasReports)),
    ...(context.calls.length > 0 ? decisionsOn('__proto__', 'hash') : []),
  ];
}

/** A model call asks for no more attempts than it may make, and for no model before the one it has. */
const isPossible = (outcome: ModelOutcome, plan: AttemptPlan): boolean =>
  outcome.kind !== 'again' ||
  outcome.plan.model > plan.model ||
  (outcome.plan.model === plan.model && outcome.plan.attempt > plan.attempt);

const peopleEvents = (turn: number, steered: number): readonly LoopEvent[] => [
  { type: 'run.paused' },
  { type: 'run.resumed' },
  ...(steered === 0 && turn < 2
    ? [{ type: 'message.steered', content: [text('and this')] } as const]
    : []),
];

const compactEvents = ({ messages }: LoopSnapshot['context']): readonly LoopEvent[] => [
  compactDone([userMessage('in short')]),
  compactDone(messages),
  compactDone(null),
  compactBroke,
];

function callEvents(call: ToolCall, hasReports: boolean): readonly LoopEvent[] {
  const { id } = call;
  const reports = [waitsForApproval(id), waitsForSettlement(id), works(id, true), works(id, false)];
  return [
    toolDone(answered(id)),
    toolDone({ ...answered(id), ending: 'malformed', result: errorResult(id, 'bad') }),
    toolBroke(id),
    ...(hasReports ? [...reports, ...decisionsOn(id, 'hash'), ...decisionsOn(id, 'other')] : []),
  ];
}

const decisionsOn = (callId: string, argumentsHash: string): readonly LoopEvent[] => [
  { type: 'approval.granted', callId, argumentsHash },
  { type: 'approval.granted', callId, argumentsHash, input: { edited: true } },
  { type: 'approval.denied', callId },
  { type: 'call.settled', callId, content: 'it was sent' },
  { type: 'call.retried', callId },
];

const raised: LoopEvent = { type: 'budget.raised', limits: { maxTurns: 3, maxActiveMs: null } };
const timed = { maxActiveMs: usedUpMs } as const;

/** A run with a deadline, which people put off once, take away, or let pass again. */
const deadlineConfiguration = (
  onLimit: OnLimit,
  raises: readonly LoopEvent[],
  floor: number,
): Configuration<Loop> => ({
  name: `a deadline, then ${onLimit}${raises.length > 0 ? ', raised once' : ''}`,
  input: runInput({ settings: { onLimit }, limits: { ...timed, maxTurns: 2, deadlineAt: 100 } }),
  events: loopEvents({
    outcomes: fewOutcomes,
    raises,
    hasReports: false,
    mayRaise: ({ deadlineAt }) => deadlineAt === 100,
  }),
  floor,
});

const deadlineRaises: readonly LoopEvent[] = [200, 50, null].map((deadlineAt) => ({
  type: 'budget.raised',
  limits: { deadlineAt },
}));

/** For runs of several turns: one outcome of each kind that leads somewhere else. */
const fewOutcomes: readonly ModelOutcome[] = [
  says('done'),
  asksFor(toolUse('a', 'put')),
  reply('max_tokens', toolUse('a', 'read')),
  says('part', 'pause_turn'),
  lost,
  failedWith('provider_auth'),
];

const configurations: readonly Configuration<Loop>[] = [
  {
    name: 'one turn, with everything that can happen in it',
    input: runInput({ limits: { ...timed, maxTurns: 1 } }),
    events: loopEvents({}),
    floor: 3_500,
  },
  {
    name: 'two turns, then stop',
    input: runInput({ limits: { ...timed, maxTurns: 2 } }),
    events: loopEvents({ hasPeople: false, hasReports: false }),
    floor: 400,
  },
  {
    name: 'two turns, then wrap up',
    input: runInput({ settings: { onLimit: 'wrapUp' }, limits: { ...timed, maxTurns: 2 } }),
    events: loopEvents({ hasPeople: false, hasReports: false }),
    floor: 450,
  },
  {
    name: 'two turns, then ask, raised once',
    input: runInput({ settings: { onLimit: 'ask' }, limits: { ...timed, maxTurns: 2 } }),
    events: loopEvents({ outcomes: fewOutcomes, raises: [raised], hasReports: false }),
    floor: 6_000,
  },
  {
    name: 'a cost limit, then stop',
    input: runInput({ limits: { ...timed, maxCostMicros: 300 } }),
    events: loopEvents({ outcomes: fewOutcomes, hasReports: false, hasPeople: false }),
    floor: 1_000,
  },
  {
    name: 'a cost limit, then wrap up',
    input: runInput({
      settings: { onLimit: 'wrapUp' },
      limits: { ...timed, maxCostMicros: 600 },
    }),
    events: loopEvents({ outcomes: fewOutcomes, hasReports: false, hasPeople: false }),
    floor: 2_500,
  },
  {
    name: 'token limits, then stop',
    input: runInput({
      limits: { ...timed, maxTotalTokens: 400, maxInputTokens: 330, maxOutputTokens: 50 },
    }),
    events: loopEvents({ outcomes: fewOutcomes, hasReports: false, hasPeople: false }),
    floor: 700,
  },
  {
    name: 'limits of tools, repeats and malformed replies',
    input: runInput({
      settings: {
        tools: [
          sampleTool({ name: 'read', isRepeatable: false }),
          sampleTool({ name: 'put', effect: 'idempotent', maxCalls: 1, maxCostMicros: 5 }),
          sampleTool({ name: 'mail', effect: 'once' }),
        ],
      },
      limits: { ...timed, maxTurns: 4, maxToolCalls: 2, maxRepeats: 2, maxMalformedReplies: 2 },
    }),
    events: loopEvents({ outcomes: everyUse, hasPeople: false, hasReports: false }),
    floor: 700,
  },
  {
    name: 'two models',
    input: runInput({
      settings: { models: [sampleModel, { ...sampleModel, id: 'second', minOutputTokens: 30 }] },
      limits: { ...timed, maxTurns: 2 },
    }),
    events: loopEvents({
      outcomes: [
        says('done'),
        asksFor(toolUse('a', 'read')),
        ...everyFailure,
        again({ model: 1 }, false),
        again({ model: 1 }, true),
      ],
      hasPeople: false,
      hasReports: false,
    }),
    floor: 800,
  },
  {
    name: 'compaction',
    input: runInput({ settings: { compactAtTokens: 80 }, limits: { ...timed, maxTurns: 3 } }),
    events: loopEvents({
      outcomes: [
        says('done'),
        says('part', 'model_context_window_exceeded'),
        asksFor(toolUse('a', 'read')),
        failedWith('context_exceeded'),
        lost,
      ],
      hasPeople: false,
      hasReports: false,
    }),
    floor: 500,
  },
  {
    name: 'cut texts are continued',
    input: runInput({ settings: { onTruncated: 'continue' }, limits: { ...timed, maxTurns: 8 } }),
    events: loopEvents({
      outcomes: [says('part', 'max_tokens'), says('part', 'pause_turn'), says('done')],
      hasPeople: false,
      hasReports: false,
    }),
    floor: 120,
  },
  deadlineConfiguration('stop', [], 600),
  deadlineConfiguration('wrapUp', [], 600),
  deadlineConfiguration('stop', deadlineRaises, 2_000),
  deadlineConfiguration('ask', deadlineRaises, 10_000),
];

const invariants: Invariants<Loop> = {
  'the actor is alive or done': isAlive,
  'what is committed is within every limit': ({ context: { ledger, settings } }) => {
    const { turns, inputTokens, outputTokens, costMicros } = committed(ledger);
    const { limits } = ledger;
    const isWithin = (used: number, max: number | null) => max === null || used <= max;
    return (
      isWithin(turns, limits.maxTurns) &&
      isWithin(inputTokens, limits.maxInputTokens) &&
      isWithin(outputTokens, limits.maxOutputTokens) &&
      isWithin(inputTokens + outputTokens, limits.maxTotalTokens) &&
      isWithin(costMicros, limits.maxCostMicros) &&
      isWithin(totalToolCalls(ledger), limits.maxToolCalls) &&
      settings.tools.every(({ name, maxCalls }) => isWithin(callsOf(ledger, name), maxCalls))
    );
  },
  'the repaired transcript is a valid request': ({ context }) =>
    historyProblems(repairHistory(context.messages)).length === 0,
  'the transcript needs no repair, but while tools run': (snapshot) =>
    snapshot.matches({ active: 'executeTools' }) ||
    historyProblems(mergeNeighbours(snapshot.context.messages)).length === 0,
  'tool uses are unanswered only while tools run': (snapshot) =>
    toolUsesIn(snapshot.context.messages.at(-1)).length === 0 ||
    snapshot.matches({ active: 'executeTools' }),
  'a request ends with a user message, unless the model itself wanted to go on': (snapshot) =>
    snapshot.children.modelCall === undefined ||
    repairHistory(snapshot.context.messages).at(-1)?.role === 'user' ||
    ['pause_turn', 'compaction'].includes(snapshot.context.stopReason ?? ''),
  'nothing is reserved at the end': (snapshot) =>
    !isEnd(snapshot) || snapshot.context.ledger.reserved.length === 0,
  'no call is open at the end': (snapshot) =>
    !isEnd(snapshot) || snapshot.context.calls.length === 0,
  'the status names the end, and nothing else does': ({ status, value, context }) =>
    context.status === (status === 'done' ? value : null),
  'each open call has a child, and there is no other': (snapshot) => {
    const ids = Object.keys(snapshot.children).filter((id) => id.startsWith('tool.'));
    const open = openCalls(snapshot.context).map(({ id }) => `tool.${id}`);
    return isEnd(snapshot) || ids.sort().join() === open.sort().join();
  },
  'calls are open only while tools run': (snapshot) =>
    openCalls(snapshot.context).length === 0 || snapshot.matches({ active: 'executeTools' }),
  'waitsForHuman means that only people can move it': (snapshot) => {
    const { modelCall, compact } = snapshot.children;
    const isWorking = openCalls(snapshot.context).some(({ waits }) => waits === null);
    const isMoving = modelCall !== undefined || compact !== undefined || isWorking;
    return isEnd(snapshot) || snapshot.hasTag('waitsForHuman') === !isMoving;
  },
  'it is busy or waits for a person, never both': (snapshot) =>
    isEnd(snapshot) || snapshot.hasTag('busy') !== snapshot.hasTag('waitsForHuman'),
  'exhausted names its limit': ({ value, context }) =>
    value !== 'exhausted' || context.limit !== null,
  'awaitBudget names its limit': (snapshot) =>
    !snapshot.matches({ active: 'awaitBudget' }) || snapshot.context.limit !== null,
  'failed names its failure': ({ value, context }) =>
    value !== 'failed' || context.failure !== null,
  'the model is reserved exactly while it is called': (snapshot) =>
    isEnd(snapshot)
      ? reservedFor(snapshot.context.ledger, 'model') === null
      : (reservedFor(snapshot.context.ledger, 'model') !== null) ===
        (snapshot.children.modelCall !== undefined),
  'tools are reserved exactly while they are open': ({ context }) => {
    const reserved = context.ledger.reserved.map(({ id }) => id).filter((id) => id !== 'model');
    const open = openCalls(context).map(({ id }) => `tool:${id}`);
    return reserved.sort().join() === open.sort().join();
  },
  'a deadline is watched while it is to come': (snapshot) => {
    const { limits, clockMs } = snapshot.context.ledger;
    const isAhead = limits.deadlineAt !== null && clockMs < limits.deadlineAt;
    return isEnd(snapshot) || !isAhead || snapshot.children.deadline !== undefined;
  },
  'a run without a deadline watches none': ({ context, children }) =>
    context.ledger.limits.deadlineAt !== null || children.deadline === undefined,
  'no turn begins after the deadline': (snapshot) => {
    const { limits, clockMs } = snapshot.context.ledger;
    const isPast = limits.deadlineAt !== null && clockMs >= limits.deadlineAt;
    const isLowered = snapshot.children.deadline !== undefined;
    return !isPast || isLowered || !snapshot.matches({ active: 'callModel' });
  },
  'all numbers of the ledger are finite': ({ context: { ledger } }) =>
    [ledger.activeMs, ...Object.values(committed(ledger))].every(Number.isFinite),
};

/** Of all that was spent, or may have been. */
const chargedIn = ({ context }: LoopSnapshot): readonly number[] =>
  Object.values(committed({ ...context.ledger, reserved: [] }));

/** All that works in a run, but for what only watches the clock. */
const workersIn = ({ children }: LoopSnapshot): readonly string[] =>
  Object.keys(children).filter((id) => id !== 'deadline');

const stepInvariants: StepInvariants<Loop> = {
  'what was charged stays charged': ({ from, to }) => {
    const before = chargedIn(from);
    return chargedIn(to).every((amount, index) => amount >= (before[index] ?? 0));
  },
  'turns are counted upwards': ({ from, to }) =>
    to.context.turn === from.context.turn || to.context.turn === from.context.turn + 1,
  'the transcript only grows, except through compaction': ({ from, event, to }) =>
    event.type === 'xstate.done.actor.compact' ||
    from.context.messages.every((message, index) => to.context.messages[index] === message),
  'a pause lasts until it is ended': ({ from, event, to }) =>
    from.value !== 'paused' ||
    to.value === 'paused' ||
    /resumed|cancelled|deadline/.test(event.type),
  'a cancelled run ends at once': ({ event, to }) =>
    event.type !== 'run.cancelled' || to.value === 'cancelled',
  'nothing runs on when the time is up': ({ event, to }) =>
    event.type !== 'time.ranOut' ||
    to.context.ledger.limits.maxActiveMs === null ||
    to.status === 'done' ||
    workersIn(to).length === 0,
  'nothing but a last answer runs on when the deadline comes': ({ event, to }) =>
    event.type !== deadlineDone.type ||
    to.status === 'done' ||
    to.matches({ active: 'wrapUp' }) ||
    workersIn(to).length === 0,
  'a last answer that is under way is not asked for again': ({ from, event, to }) =>
    event.type !== deadlineDone.type ||
    !from.matches({ active: 'wrapUp' }) ||
    to.children.modelCall === from.children.modelCall,
  'the clock only goes forward': ({ from, to }) =>
    to.context.ledger.clockMs >= from.context.ledger.clockMs,
  'only a decision for the arguments that were shown is passed on': ({ from, event, to }) =>
    event.type !== 'approval.granted' ||
    isApprovable(from.context, event.callId, event.argumentsHash) ||
    to === from,
};

export const agentLoopModel: Model<Loop> = {
  machine: agentLoop,
  configurations,
  invariants,
  stepInvariants,
};
