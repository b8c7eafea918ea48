/**
 * What a run heard, in a form that a store keeps with each step: enough to let the machine decide it all again. Contents
 * that the transcript holds are named by their place there and not kept twice.
 */
import type { Json, JsonObject } from './json.ts';
import type { ContentBlock, Message, ToolResult } from './message.ts';
import type { ModelReply } from './reply.ts';
import type { RunContext } from './run-context.ts';
import { describeThrown } from './stringify.ts';
import { isThinking } from './thinking.ts';

export interface JournalEntry {
  /** The turn that the run was in when it heard the event. */
  readonly turn: number;
  readonly event: { readonly type: string; readonly [field: string]: Json };
}

interface Heard {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Not heard but done: a run that had ended was put where it waits for a budget. */
export const reopened = 'run.reopened';

const ofModel = 'xstate.done.actor.modelCall';
const ofCompaction = 'xstate.done.actor.compact';
/** The kind of the event that ends a call. */
export const toolDone = 'xstate.done.actor.tool';
const ofBrokenTool = 'xstate.error.actor.tool';

/** The kind of an event: XState puts the id of a call into the name of its end. */
export const kindOf = (type: string): string =>
  [toolDone, ofBrokenTool].find((kind) => type.startsWith(`${kind}.`)) ?? type;

/** `context`: of the run once it had heard the event, or later. */
export function journalEntry(turn: number, event: Heard, context: RunContext): JournalEntry {
  return { turn, event: keptForm(event, context) as JournalEntry['event'] };
}

function keptForm(event: Heard, context: RunContext): unknown {
  const type = kindOf(event.type);
  if (type === ofModel) return { type, output: withContentNamed(event.output, context) };
  if (type === toolDone) return { type, output: withResultNamed(event.output, context) };
  if (type === ofCompaction)
    return { type, output: { ...(event.output as object), messages: null } };
  if (!type.startsWith('xstate.error.')) return event;
  return { type, actorId: event.actorId, error: describeThrown(event.error) };
}

function withContentNamed(output: unknown, { messages }: RunContext): unknown {
  const { reply } = output as { readonly reply?: ModelReply };
  if (!reply) return output;
  const named = reply.content.length > 0 ? placeOf(reply.content, messages) : null;
  return { ...(output as object), reply: { ...reply, content: named ?? reply.content } };
}

/** The index of the message that these blocks became, if they became one as they are. */
function placeOf(content: readonly ContentBlock[], messages: readonly Message[]): number | null {
  const index = messages.findLastIndex(
    (message) =>
      message.role === 'assistant' &&
      message.content.length === content.length &&
      message.content.every((block, at) => isSame(block, content[at])),
  );
  return index === -1 ? null : index;
}

/** The transcript names the model that thought, which its reply does not. */
function isSame(kept: ContentBlock, said: ContentBlock | undefined): boolean {
  if (kept === said) return true;
  if (!said || !isThinking(kept) || !isThinking(said) || said.model !== undefined) return false;
  return kept.type === 'thinking' && said.type === 'thinking'
    ? kept.thinking === said.thinking && kept.signature === said.signature
    : 'data' in kept && 'data' in said && kept.data === said.data;
}

function withResultNamed(output: unknown, context: RunContext): unknown {
  const { callId, result } = output as { readonly callId: string; readonly result: ToolResult };
  const kept = keptResult(callId, context);
  const isKept = kept?.content === result.content && kept.is_error === result.is_error;
  return isKept ? { ...(output as object), result: null } : output;
}

/** As it will stay. A result that still waits to join the transcript may get a notice there about repeated calls. */
function keptResult(callId: string, { calls, messages, repeats }: RunContext) {
  const open = calls.find(({ id }) => id === callId)?.result;
  if (open) return repeats < 2 ? open : undefined;
  const index = messages.findLastIndex((message) => asksFor(message, callId));
  return index === -1 ? undefined : resultIn(messages.slice(index + 1), callId);
}

const asksFor = ({ content }: Message, callId: string): boolean =>
  content.some((block) => block.type === 'tool_use' && block.id === callId);

const resultIn = (messages: readonly Message[], callId: string): ToolResult | undefined =>
  messages
    .flatMap(({ content }) => content)
    .find((block) => block.type === 'tool_result' && block.tool_use_id === callId) as
    | ToolResult
    | undefined;

/** What a store has of a run beside its journal. */
export interface Kept {
  readonly messages: readonly Message[];
  /** Results of the open batch of calls. */
  readonly results: readonly ToolResult[];
}

/** The event as the machine heard it. Contents that are missing come back empty: the machine then decides differently. */
export function heardEvent({ event }: JournalEntry, kept: Kept): Heard {
  const { type, output } = event;
  if (type === ofModel) {
    return { type, actorId: 'modelCall', output: withContent(output as JsonObject, kept) };
  }
  if (type === toolDone) {
    const { callId, result } = output as JsonObject & { readonly callId: string };
    const whole = result ?? resultOf(callId, kept);
    const actorId = `tool.${callId}`;
    return { type: `${type}.${callId}`, actorId, output: { ...(output as object), result: whole } };
  }
  if (type === ofBrokenTool) return { ...event, type: `xstate.error.actor.${event.actorId}` };
  return event;
}

const resultOf = (callId: string, { messages, results }: Kept): ToolResult =>
  results.find(({ tool_use_id }) => tool_use_id === callId) ??
  resultIn(messages, callId) ?? { type: 'tool_result', tool_use_id: callId, content: '' };

function withContent(output: JsonObject, { messages }: Kept): unknown {
  const { reply } = output as { readonly reply?: { readonly content: Json } };
  if (typeof reply?.content !== 'number') return output;
  const content = (messages[reply.content]?.content ?? []).map(withoutModel);
  return { ...output, reply: { ...reply, content } };
}

function withoutModel(block: ContentBlock): ContentBlock {
  if (!isThinking(block)) return block;
  const { model: _, ...said } = block;
  return said;
}
