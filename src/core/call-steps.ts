/** The steps of a reply's tool calls, as pure changes of the run's context. */
import type { Json } from './json.ts';
import * as ledgers from './ledger.ts';
import {
  errorResult,
  invalidJsonIn,
  type ToolResult,
  type ToolUse,
  text,
  tokensAtMost,
  toolUsesIn,
} from './message.ts';
import { withUserBlocks } from './model-steps.ts';
import { nearNames } from './near-names.ts';
import { isCut } from './routing.ts';
import { type RunContext, toolNamed } from './run-context.ts';
import type { ToolCall, ToolEnding, ToolOutcome, ToolPolicy, Wait } from './tool-call.ts';

type Change = Partial<RunContext>;

export const openCalls = ({ calls }: RunContext): readonly ToolCall[] =>
  calls.filter(({ result }) => result === null);

/** What the machine of a call has to know. */
export const callPolicy = (
  context: RunContext,
  { name, effect, maxRetries }: ToolCall,
): Pick<ToolPolicy, 'effect' | 'maxRetries' | 'onInterrupted'> => ({
  effect,
  maxRetries,
  onInterrupted: toolNamed(context, name)?.onInterrupted ?? 'ask',
});

export const openCall = (context: RunContext, callId: string): ToolCall | undefined =>
  openCalls(context).find(({ id }) => id === callId);

/** Everything that still runs waits for a person. */
export const isOnlyWaiting = (context: RunContext): boolean =>
  openCalls(context).length > 0 && openCalls(context).every(({ waits }) => waits !== null);

export const isWaitingFor = (context: RunContext, callId: string, wait: Wait['for']): boolean =>
  openCall(context, callId)?.waits?.for === wait;

/** An approval counts for the call, the arguments and the tool that were shown, and for nothing else. */
export function isApprovable(context: RunContext, callId: string, argumentsHash: string): boolean {
  const waits = openCall(context, callId)?.waits;
  return waits?.for === 'approval' && waits.argumentsHash === argumentsHash;
}

/**
 * Decides for each tool use, in order, whether it may run, and sets its worst case aside: a parallel batch can't
 * pass a limit that a row of single calls could not. Uses of a reply that did not stop to use tools never run.
 */
export function admitCalls(context: RunContext): Change {
  const uses = toolUsesIn(context.messages.at(-1));
  if (context.stopReason !== 'tool_use') {
    const answered = uses.map((use) => answeredCall(use, whyCut(context)));
    return {
      ...(isCut(context.stopReason) ? {} : { malformedReplies: 0 }),
      ...closeCalls({ ...context, calls: answered }, ''),
      cutCalls: uses.length,
    };
  }
  let { ledger } = context;
  const calls = uses.map((use): ToolCall => {
    const policy = toolNamed(context, use.name);
    const problem = malformation(context, use, policy);
    if (problem !== null) return answeredCall(use, problem, 'malformed');
    const refusal = whyNotAdmitted({ ...context, ledger }, policy as ToolPolicy);
    if (refusal !== null) return answeredCall(use, refusal);
    ledger = admit(ledger, use, policy as ToolPolicy);
    return newCall(use, policy as ToolPolicy);
  });
  return { ledger, calls };
}

const newCall = ({ id, name }: ToolUse, { effect, maxRetries }: ToolPolicy): ToolCall => ({
  id,
  name,
  effect,
  maxRetries: effect === 'once' ? 0 : maxRetries,
  waits: null,
  isRunning: false,
  editedInput: null,
  result: null,
  ending: null,
});

const answeredCall = (
  { id, name }: ToolUse,
  why: string,
  ending: ToolEnding = 'notRun',
): ToolCall => ({
  ...newCall({ type: 'tool_use', id, name, input: {} }, unknownTool(name)),
  result: errorResult(id, why),
  ending,
});

const unknownTool = (name: string): ToolPolicy => ({
  name,
  effect: 'read',
  maxCalls: 0,
  maxRetries: 0,
  maxCostMicros: 0,
  isRepeatable: false,
  onInterrupted: 'ask',
});

const admit = (ledger: ledgers.Ledger, { id }: ToolUse, policy: ToolPolicy): ledgers.Ledger =>
  ledgers.countCall(
    ledgers.reserve(ledger, reservationOf(id), costOf(policy.maxCostMicros)),
    policy.name,
  );

const costOf = (costMicros: number): ledgers.Amount => ({ ...ledgers.nothing, costMicros });
const reservationOf = (callId: string): string => `tool:${callId}`;

const whyCut = ({ stopReason }: RunContext): string =>
  stopReason === 'max_tokens'
    ? 'Not executed: the reply was cut off at the output limit before this call was complete. Send it again, shorter.'
    : `Not executed: the reply ended early (${stopReason}).`;

function malformation(
  { settings }: RunContext,
  { name, input }: ToolUse,
  policy: ToolPolicy | undefined,
): string | null {
  if (policy === undefined) {
    const near = nearNames(
      name,
      settings.tools.map((tool) => tool.name),
    );
    const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : '';
    return `There is no tool named ${JSON.stringify(name)}.${hint}`;
  }
  const raw = invalidJsonIn(input);
  return raw === null ? null : 'Not executed: the arguments are not valid JSON.';
}

function whyNotAdmitted(context: RunContext, { name, maxCalls, maxCostMicros }: ToolPolicy) {
  const { ledger, repeats } = context;
  const { maxRepeats, maxToolCalls } = ledger.limits;
  if (maxRepeats !== null && repeats >= maxRepeats && repeats > 0) {
    return `Not executed: the same call was made ${repeats} times in a row.`;
  }
  if (maxCalls !== null && ledgers.callsOf(ledger, name) >= maxCalls) {
    return `Not executed: ${name} may be called ${maxCalls} times in a run, and was.`;
  }
  if (maxToolCalls !== null && ledgers.totalToolCalls(ledger) >= maxToolCalls) {
    return `Not executed: this run may call tools ${maxToolCalls} times, and did.`;
  }
  const passed = maxCostMicros > 0 ? ledgers.limitPassedBy(ledger, costOf(maxCostMicros)) : null;
  return passed ? `Not executed: it does not fit the budget (${passed.name}).` : null;
}

const changeCall = ({ calls }: RunContext, callId: string, change: Partial<ToolCall>): Change => ({
  calls: calls.map((call) =>
    call.id === callId && call.result === null ? { ...call, ...change } : call,
  ),
});

/** `mayHaveActed`: an earlier attempt of a call that waits for an approval began, and was lost. */
export const noteWait = (
  context: RunContext,
  callId: string,
  waits: Wait,
  mayHaveActed = false,
): Change =>
  changeCall(context, callId, { waits, isRunning: mayHaveActed || waits.for === 'settlement' });

export const noteWork = (context: RunContext, callId: string, isRunning: boolean): Change =>
  changeCall(context, callId, { waits: null, isRunning });

/** A person has spoken: the call waits no longer, so the same word can't count twice. */
export const noteDecision = (context: RunContext, callId: string): Change =>
  changeCall(context, callId, { waits: null });

export const noteEdit = (context: RunContext, callId: string, editedInput: Json): Change =>
  changeCall(context, callId, { editedInput });

export function settleCall(context: RunContext, outcome: ToolOutcome): Change {
  const { callId, result, ending, costMicros, activeMs } = outcome;
  return {
    ...changeCall(context, callId, {
      waits: null,
      isRunning: false,
      ending,
      result: { ...result, tool_use_id: callId },
    }),
    ledger: ledgers.readMeter(
      costMicros === null
        ? ledgers.charge(context.ledger, reservationOf(callId))
        : ledgers.settle(context.ledger, reservationOf(callId), costOf(costMicros)),
      activeMs,
    ),
  };
}

/** Answers whatever is unanswered, all results in one user message. Does nothing when nothing is. */
export function closeCalls(context: RunContext, why: string): Change {
  const uses = toolUsesIn(context.messages.at(-1));
  if (uses.length === 0) return {};
  const results = withRepeatNotice(
    context,
    uses.map(({ id }) => resultOf(context, id, why)),
  );
  return {
    messages: withUserBlocks(context.messages, results),
    contextTokens: context.contextTokens + tokensAtMost(results),
    calls: [],
    malformedReplies: areAllMalformed(context) ? context.malformedReplies + 1 : 0,
    ledger: closedLedger(context),
  };
}

/** What may have acted is charged; what never began is not. */
const closedLedger = (context: RunContext): ledgers.Ledger =>
  openCalls(context).reduce(
    (ledger, { id, isRunning }) =>
      isRunning
        ? ledgers.charge(ledger, reservationOf(id))
        : ledgers.release(ledger, reservationOf(id)),
    context.ledger,
  );

const areAllMalformed = ({ calls }: RunContext): boolean =>
  calls.length > 0 && calls.every(({ ending }) => ending === 'malformed');

function resultOf(context: RunContext, id: string, why: string): ToolResult {
  const call = context.calls.find((known) => known.id === id);
  if (call?.result) return call.result;
  return errorResult(
    id,
    call?.isRunning
      ? `${why} The call had begun and was stopped before its result was known: it may have taken effect.`
      : `Not executed: ${why}`,
  );
}

/** Told once, with the last result of the round before the one that would end the run. */
function withRepeatNotice(
  { repeats, ledger }: RunContext,
  results: readonly ToolResult[],
): readonly ToolResult[] {
  const { maxRepeats } = ledger.limits;
  const last = results.at(-1);
  if (maxRepeats === null || repeats < 2 || repeats !== maxRepeats - 1 || !last) return results;
  const notice = `[The same calls were made ${repeats} times in a row. Once more ends the run: try something else.]`;
  return results.with(-1, { ...last, content: withNotice(last.content, notice) });
}

/** The content of a result with something to say to the model behind it. */
export function withNotice(content: ToolResult['content'], notice: string): ToolResult['content'] {
  if (typeof content !== 'string') return [...content, text(notice)];
  return content ? `${content}\n\n${notice}` : notice;
}
