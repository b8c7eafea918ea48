import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { ModelReply } from '../core/reply.ts';
import { parseInput } from './anthropic-blocks.ts';
import { interrupted, invalidResponse, reportedFailure } from './anthropic-errors.ts';
import { readReply } from './anthropic-reply.ts';
import type { Delta } from './provider.ts';
import type { SseEvent } from './sse.ts';

/** Puts the events of a stream together. Takes each event once, in order. */
export interface ReplyAccumulator {
  /**
   * What the event adds to the reply, or null.
   * @throws ProviderError when the event reports an error or can't be read.
   */
  readonly take: (event: SseEvent) => Delta | null;
  /** Whether the message has ended: no later event counts. */
  readonly isComplete: () => boolean;
  /** Whether any event came. */
  readonly hasEvents: () => boolean;
  /**
   * The whole reply.
   * @throws ProviderError `stream_interrupted` before the message has ended.
   */
  readonly reply: () => ModelReply;
}

/** A block under way. What arrives in pieces is kept apart from what the start of the block had. */
interface OpenBlock {
  readonly start: JsonObject & { readonly type: string };
  text: string;
  input: string;
  signature: string | null;
  readonly citations: Json[];
  final: JsonObject;
}

export function replyAccumulator(requestedModel: string): ReplyAccumulator {
  const blocks = new Map<number, OpenBlock>();
  let message: JsonObject | null = null;
  let usage: JsonObject = {};
  let ending: JsonObject | null = null;
  let isComplete = false;
  let hasEvents = false;

  /** Events and deltas of other types are of no meaning here, or not yet known. */
  function apply(type: string | null, event: JsonObject): Delta | null {
    if (type === 'content_block_start') return startBlock(blocks, event);
    if (type === 'content_block_delta') return addDelta(blocks, event);
    if (type === 'message_start') startMessage(event);
    if (type === 'message_delta') changeMessage(event);
    if (type === 'message_stop') isComplete = true;
    return null;
  }

  function startMessage(event: JsonObject): void {
    if (message !== null) return;
    if (!isJsonObject(event.message)) throw invalidResponse('message_start has no message');
    message = event.message;
    usage = overwrite(usage, message.usage);
  }

  function changeMessage(event: JsonObject): void {
    ending = overwrite(ending ?? {}, event.delta);
    usage = overwrite(usage, event.usage);
  }

  function take({ name, data }: SseEvent): Delta | null {
    if (isComplete) return null;
    if (!data.ok) throw invalidResponse('an event is not JSON', !hasEvents);
    const event = data.value;
    if (!isJsonObject(event)) throw invalidResponse('an event is not an object', !hasEvents);
    hasEvents = true;
    const type = typeof event.type === 'string' ? event.type : name;
    if (type === 'error' || (type === null && event.error !== undefined)) {
      throw reportedFailure(event);
    }
    return apply(type, event);
  }

  function reply(): ModelReply {
    if (!isComplete) throw interrupted('it ended before the message did', hasEvents);
    if (message === null) throw invalidResponse('the stream has no message_start');
    if (ending === null) throw interrupted('it has no message_delta', hasEvents);
    const inOrder = [...blocks].toSorted(([a], [b]) => a - b).map(([, block]) => block);
    // An object of JSON values, as far as its parts are: what is missing is left out below.
    const whole = { ...message, ...ending, usage, content: inOrder.map(closeBlock) };
    return readReply(whole, requestedModel);
  }

  return { take, reply, isComplete: () => isComplete, hasEvents: () => hasEvents };
}

/** Later counts replace earlier ones, never add to them; what is null or missing keeps its earlier value. */
function overwrite(before: JsonObject, after: Json | undefined): JsonObject {
  if (!isJsonObject(after)) return before;
  const told = Object.entries(after).filter(([, value]) => value !== null);
  return { ...before, ...Object.fromEntries(told) };
}

function startBlock(blocks: Map<number, OpenBlock>, event: JsonObject): Delta | null {
  const { index, content_block: start } = event;
  if (!isIndex(index) || !isJsonObject(start) || typeof start.type !== 'string') {
    throw invalidResponse('content_block_start has no block');
  }
  if (blocks.has(index)) return null;
  const block = { start: { ...start, type: start.type }, text: '', input: '', signature: null };
  blocks.set(index, { ...block, citations: [], final: {} });
  return firstDelta(index, block.start);
}

const isIndex = (value: Json | undefined): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** Some servers put the first piece into the start of the block. */
function firstDelta(index: number, { type, text, thinking }: JsonObject): Delta | null {
  const piece = type === 'text' ? text : type === 'thinking' ? thinking : '';
  if (typeof piece !== 'string' || piece === '') return null;
  return { type: type === 'text' ? 'text' : 'thinking', index, text: piece };
}

function addDelta(blocks: Map<number, OpenBlock>, event: JsonObject): Delta | null {
  const { index, delta } = event;
  const block = isIndex(index) ? blocks.get(index) : undefined;
  if (!isIndex(index) || block === undefined || !isJsonObject(delta)) return null;
  switch (delta.type) {
    case 'text_delta':
      return addText(block, index, 'text', delta.text);
    case 'thinking_delta':
      return addText(block, index, 'thinking', delta.thinking);
    case 'input_json_delta':
      return addInput(block, index, delta.partial_json);
    default:
      addRest(block, delta);
      return null;
  }
}

function addText(
  block: OpenBlock,
  index: number,
  type: 'text' | 'thinking',
  piece: Json | undefined,
): Delta | null {
  if (block.start.type !== type || typeof piece !== 'string' || piece === '') return null;
  block.text += piece;
  return { type, index, text: piece };
}

function addInput(block: OpenBlock, index: number, piece: Json | undefined): Delta | null {
  if (!block.start.type.endsWith('tool_use') || typeof piece !== 'string' || piece === '') {
    return null;
  }
  block.input += piece;
  return block.start.type === 'tool_use' ? { type: 'tool_input', index, text: piece } : null;
}

function addRest(block: OpenBlock, { type: kind, ...delta }: JsonObject): void {
  const { type } = block.start;
  if (kind === 'signature_delta' && type === 'thinking' && typeof delta.signature === 'string') {
    block.signature = delta.signature;
  } else if (kind === 'citations_delta' && type === 'text' && delta.citation !== undefined) {
    block.citations.push(delta.citation);
  } else if (kind === 'compaction_delta' && type === 'compaction') {
    // It carries the final value of its fields, not a piece of them.
    block.final = { ...block.final, ...delta };
  }
}

function closeBlock({ start, text, input, signature, citations, final }: OpenBlock): JsonObject {
  switch (start.type) {
    case 'text': {
      const first = Array.isArray(start.citations) ? start.citations : [];
      return { ...start, text: join(start.text, text), citations: [...first, ...citations] };
    }
    case 'thinking': {
      const thinking = join(start.thinking, text);
      return { ...start, thinking, signature: signature ?? start.signature ?? '' };
    }
    default:
      return { ...start, ...final, ...(input.trim() === '' ? {} : { input: parseInput(input) }) };
  }
}

const join = (first: Json | undefined, rest: string): string =>
  (typeof first === 'string' ? first : '') + rest;
