/** The steps of a model call, as pure changes of the run's context. */
import { gathered } from './growing.ts';
import * as ledgers from './ledger.ts';
import {
  type ContentBlock,
  isBlank,
  type Message,
  text,
  textIn,
  tokensAtMost,
  toolUsesIn,
} from './message.ts';
import { costMicros } from './price.ts';
import { countRepeats } from './repeats.ts';
import {
  type AttemptPlan,
  addUsage,
  allInputTokens,
  firstAttempt,
  type ModelReply,
  type StopReason,
} from './reply.ts';
import { isCut } from './routing.ts';
import { goneTokens, modelOf, type RunContext, toolNamed } from './run-context.ts';
import { reservationFor, wrapUpNotice } from './spending.ts';
import { thinkingOf } from './thinking.ts';
import { freeId } from './tool-use-ids.ts';

type Change = Partial<RunContext>;
const reservation = 'model';

/** Reserves the worst case and puts what was steered into the transcript. A repeated attempt is no new turn. */
export function beginModelCall(context: RunContext, kind: 'turn' | 'wrapUp'): Change {
  const amount = reservationFor(context, kind);
  const said = kind === 'wrapUp' ? [text(wrapUpNotice(context.limit))] : [];
  const added = [...context.steered, ...said];
  return {
    turn: isFresh(context.plan) ? context.turn + 1 : context.turn,
    messages: withUserBlocks(context.messages, added),
    contextTokens: context.contextTokens + (added.length > 0 ? tokensAtMost(added) : 0),
    steered: [],
    replyCap: amount.outputTokens,
    // A limit that was raised holds no longer; the one that a last answer is given for does.
    limit: kind === 'wrapUp' ? context.limit : null,
    ledger: ledgers.reserve(context.ledger, reservation, amount),
  };
}

/** The context from before `beginModelCall`, as far as a run can begin with it again. */
export function beforeModelCall(context: RunContext, kind: 'turn' | 'wrapUp'): RunContext {
  const { messages, contextTokens, turn } = context;
  const ledger = ledgers.release(context.ledger, reservation);
  const before = { ...context, turn: turn - 1, ledger };
  const said = kind === 'wrapUp' ? messages.at(-1) : undefined;
  if (!said) return before;
  return {
    ...before,
    messages: messages.slice(0, -1),
    contextTokens: contextTokens - tokensAtMost(said.content),
    steered: said.content.slice(0, -1),
  };
}

const isFresh = ({ attempt, model }: AttemptPlan): boolean => attempt === 1 && model === 0;

/** The transcript only grows. Neighbours of one role are merged when a request is built, not here. */
export const withUserBlocks = (
  messages: readonly Message[],
  content: readonly ContentBlock[],
): readonly Message[] =>
  content.length === 0 ? messages : [...messages, { role: 'user', content }];

/** The call may have been billed and its outcome is unknown: its whole reservation is charged. */
export const chargeModelCall = ({ ledger }: RunContext): Change => ({
  ledger: ledgers.charge(ledger, reservation),
  plan: firstAttempt,
});

/** The call was not billed. It still was a turn. */
export const releaseModelCall = ({ ledger }: RunContext): Change => ({
  ledger: ledgers.settle(ledger, reservation, { ...ledgers.nothing, turns: 1 }),
  plan: firstAttempt,
});

/** Another attempt of the same turn follows, with a reservation of its own. */
export const planAgain = (
  { ledger }: RunContext,
  { plan, mayHaveBilled }: { readonly plan: AttemptPlan; readonly mayHaveBilled: boolean },
): Change => ({
  plan,
  ledger: mayHaveBilled
    ? ledgers.charge(ledger, reservation, { turns: 0 })
    : ledgers.release(ledger, reservation),
});

export function takeReply(context: RunContext, reply: ModelReply): Change {
  const isRefused = reply.stopReason === 'refusal';
  const content = isRefused ? [] : ownContent(context, reply);
  const messages: readonly Message[] =
    content.length > 0 ? [...context.messages, { role: 'assistant', content }] : context.messages;
  return {
    ...settled(context, reply, messages),
    messages,
    plan: firstAttempt,
    cutCalls: 0,
    container: reply.container ?? context.container,
    stopReason: reply.stopReason,
    rawStopReason: reply.rawStopReason,
    continuations: isCut(reply.stopReason) ? context.continuations : 0,
    answer: (context.continuations > 0 ? context.answer : '') + textIn(reply.content),
    repeats: repeatsIn(context, messages, content),
    refusal: isRefused
      ? {
          text: textIn(reply.content),
          category: reply.refusal?.category ?? null,
          explanation: reply.refusal?.explanation ?? null,
        }
      : null,
  };
}

const ownContent = (context: RunContext, { content }: ModelReply): readonly ContentBlock[] =>
  thinkingOf(modelOf(context).id, withUniqueIds(context.messages, withoutBlanks(content)));

function settled(context: RunContext, { usage }: ModelReply, messages: readonly Message[]): Change {
  const { settings } = context;
  const inputTokens = allInputTokens(usage);
  const addedTokens = goneTokens(settings, messages) - goneTokens(settings, context.messages);
  // No request has no input: the reply reports no usage, so every bound stays the most that it may have been.
  if (inputTokens === 0) {
    return {
      contextTokens: context.contextTokens + context.replyCap + addedTokens,
      ledger: ledgers.charge(context.ledger, reservation),
    };
  }
  return {
    usage: addUsage(context.usage, usage),
    contextTokens: inputTokens + usage.outputTokens + addedTokens,
    countedBy: context.plan.model,
    ledger: ledgers.settle(context.ledger, reservation, {
      turns: 1,
      inputTokens,
      outputTokens: usage.outputTokens,
      costMicros: costMicros(modelOf(context).price, usage),
    }),
  };
}

const withoutBlanks = (content: readonly ContentBlock[]): readonly ContentBlock[] =>
  content.filter((block) => block.type !== 'text' || !isBlank(block.text));

/** Ids name calls, children and results: a provider that repeats one, or sends an illegal one, gets it renamed. */
function withUniqueIds(
  messages: readonly Message[],
  content: readonly ContentBlock[],
): readonly ContentBlock[] {
  if (!content.some(({ type }) => type === 'tool_use')) return content;
  const before = toolUseIds(messages);
  const taken = new Set<string>();
  return content.map((block) => {
    if (block.type !== 'tool_use') return block;
    const id = freeId(block.id, (other) => before.has(other) || taken.has(other));
    taken.add(id);
    return id === block.id ? block : { ...block, id };
  });
}

const toolUseIds = gathered(
  () => new Set<string>(),
  (ids, message) => {
    for (const { id } of toolUsesIn(message)) ids.add(id);
  },
);

function repeatsIn(
  context: RunContext,
  messages: readonly Message[],
  content: readonly ContentBlock[],
): number {
  const { maxRepeats } = context.ledger.limits;
  if (maxRepeats === null || !content.some(({ type }) => type === 'tool_use')) return 0;
  const isCounted = (tool: string) => toolNamed(context, tool)?.isRepeatable !== true;
  // A limit of 0 is reached by the first call, not by none.
  return countRepeats(messages, isCounted, Math.max(1, maxRepeats));
}

/** A cut text is taken up by a plain wish of the user; after other cuts the transcript itself says how to go on. */
export const askToGoOn = (context: RunContext): Change => ({
  steered: isCutInText(context) ? [...context.steered, text(wishToGoOn)] : context.steered,
});

const wishToGoOn = 'Please continue where you stopped.';

const isCutInText = ({ stopReason, cutCalls }: RunContext): boolean =>
  isTextCut(stopReason) && cutCalls === 0;

/**
 * Puts what was steered into the transcript of a run that ends before another model call: it was accepted, so a
 * follow-up has to find it. The run's own wish to go on is left out, since the run does not.
 */
export function joinSteered(context: RunContext): Change {
  const { steered, messages, contextTokens } = context;
  const wish = isCutInText(context) && context.continuations > 0 ? steered.findIndex(isWish) : -1;
  const said = steered.filter((_, index) => index !== wish);
  if (said.length === 0) return { steered: [] };
  return {
    steered: [],
    messages: withUserBlocks(messages, said),
    contextTokens: contextTokens + tokensAtMost(said),
  };
}

const isWish = (block: ContentBlock): boolean => block.type === 'text' && block.text === wishToGoOn;

const isTextCut = (reason: StopReason | null): boolean =>
  reason === 'max_tokens' || reason === 'model_context_window_exceeded';
