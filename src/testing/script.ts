import { invalidInput } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';

/** One answer of the scripted model that is a message. Without any content it is an empty end_turn. */
export interface ScriptedMessage {
  readonly text?: string;
  /** A signed thinking block before the text. */
  readonly thinking?: string;
  /** An id left out becomes `toolu_n`, n counting the tool uses of the script from 1. */
  readonly toolUses?: readonly {
    readonly id?: string;
    readonly name: string;
    readonly input?: unknown;
  }[];
  /** Content blocks in the API's own form, instead of the three fields above. */
  readonly content?: readonly unknown[];
  /** Default: `tool_use` when there are tool uses, else `end_turn`. */
  readonly stopReason?: string;
  /** Default: a token for each 4 bytes, nothing cached. */
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly cacheReadTokens?: number;
    readonly cacheWriteTokens?: number;
  };
  readonly stopDetails?: unknown;
}

/** An HTTP error in the API's error shape. */
export interface ScriptedError {
  readonly error: {
    readonly status: number;
    readonly type: string;
    readonly message: string;
    readonly headers?: Record<string, string>;
  };
}

/**
 * Raw server-sent events, written as they are. `{ "$hang": true }` keeps the answer open and
 * `{ "$reset": true }` destroys the socket; what follows either is never sent.
 */
export interface ScriptedStream {
  readonly stream: readonly unknown[];
}

/** One answer of the scripted model; a string is a text that ends the turn. */
export type ScriptedReply = string | ScriptedMessage | ScriptedError | ScriptedStream;

/** The answers in the order of the calls, or a function that makes each one from its call. */
export type Script =
  | readonly ScriptedReply[]
  | ((request: ScriptedRequest) => ScriptedReply | Promise<ScriptedReply>);

/** @throws PawlError `invalid_input` */
export function checkScript(script: unknown): void {
  if (typeof script === 'function') return;
  if (!Array.isArray(script))
    throw invalidInput('script', 'a list of replies, or a function', script);
  for (const [index, reply] of script.entries()) {
    if (typeof reply === 'string' || isJsonObject(reply)) continue;
    throw invalidInput(`script[${index}]`, 'a text or a reply object', reply);
  }
}

/** A request that kept the API's rules. `number` counts them from 1. */
export interface ScriptedRequest {
  readonly number: number;
  readonly body: WireRequest;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface WireBlock {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The body of POST /v1/messages, as far as the request rules vouch for it. */
export interface WireRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | readonly WireBlock[];
  }[];
  readonly stream?: boolean;
  readonly [field: string]: unknown;
}

export interface WireMessage {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly unknown[];
  readonly stop_reason: string;
  readonly stop_sequence: null;
  readonly stop_details: unknown;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cache_read_input_tokens: number;
    readonly cache_creation_input_tokens: number;
  };
}

export interface WireEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What the client was given earlier, as far as later requests must agree with it. */
export interface SentMessage {
  readonly content: readonly unknown[];
  readonly stop_reason: string | null;
  /** Id of the model that was asked. */
  readonly model?: string;
}

/** What a scripted message takes from the call it answers. */
export interface AnsweredCall {
  readonly number: number;
  readonly model: string;
  readonly requestBytes: number;
  readonly usedToolUseIds: ReadonlySet<string>;
}

export function toTokens(sizeBytes: number): number {
  return Math.ceil(sizeBytes / 4);
}

/** The answer as a whole, the way the API sends it when no stream was asked for. */
export function toWireMessage(reply: string | ScriptedMessage, call: AnsweredCall): WireMessage {
  const scripted = typeof reply === 'string' ? { text: reply } : reply;
  const content = scripted.content ?? toContent(scripted, call);
  const usage = scripted.usage ?? {};
  const hasToolUse = content.some((block) => isJsonObject(block) && block.type === 'tool_use');
  return {
    id: `msg_${call.number}`,
    type: 'message',
    role: 'assistant',
    model: call.model,
    content,
    stop_reason: scripted.stopReason ?? (hasToolUse ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    stop_details: scripted.stopDetails ?? null,
    usage: {
      input_tokens: usage.inputTokens ?? toTokens(call.requestBytes),
      output_tokens: usage.outputTokens ?? toTokens(Buffer.byteLength(JSON.stringify(content))),
      cache_read_input_tokens: usage.cacheReadTokens ?? 0,
      cache_creation_input_tokens: usage.cacheWriteTokens ?? 0,
    },
  };
}

function toContent(scripted: ScriptedMessage, call: AnsweredCall): readonly WireBlock[] {
  const { thinking, text, toolUses = [] } = scripted;
  const content: WireBlock[] = [];
  if (thinking !== undefined) {
    content.push({ type: 'thinking', thinking, signature: `signature_${call.number}` });
  }
  if (text !== undefined) content.push({ type: 'text', text });
  const used = new Set(call.usedToolUseIds);
  for (const { id = nextToolUseId(used), name, input = {} } of toolUses) {
    used.add(id);
    content.push({ type: 'tool_use', id, name, input });
  }
  return content;
}

function nextToolUseId(used: ReadonlySet<string>): string {
  let number = used.size + 1;
  while (used.has(`toolu_${number}`)) number += 1;
  return `toolu_${number}`;
}

/** The same answer as the events of a stream. Texts and inputs come in small pieces. */
export function toStreamEvents(message: WireMessage): readonly WireEvent[] {
  const { content, stop_reason, stop_sequence, stop_details, usage } = message;
  const head = { ...message, content: [], stop_reason: null, stop_details: null };
  return [
    { type: 'message_start', message: { ...head, usage: { ...usage, output_tokens: 1 } } },
    { type: 'ping' },
    ...content.flatMap(toBlockEvents),
    { type: 'message_delta', delta: { stop_reason, stop_sequence, stop_details }, usage },
    { type: 'message_stop' },
  ];
}

function toBlockEvents(block: unknown, index: number): readonly WireEvent[] {
  const { start, deltas } = isJsonObject(block) ? cutBlock(block) : { start: block, deltas: [] };
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function cutBlock(block: JsonObject) {
  switch (block.type) {
    case 'text':
      return cutText(block);
    case 'thinking':
      return cutThinking(block);
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return { start: { ...block, input: {} }, deltas: inputDeltas(block.input) };
    default:
      return { start: block, deltas: [] };
  }
}

function cutText(block: JsonObject) {
  const citations = Array.isArray(block.citations) ? block.citations : undefined;
  const pieces = cutString(block.text).map((text) => ({ type: 'text_delta', text }));
  return {
    start: { ...block, text: '', ...(citations && { citations: [] }) },
    deltas: [
      ...(citations ?? []).map((citation: unknown) => ({ type: 'citations_delta', citation })),
      ...pieces,
    ],
  };
}

function cutThinking(block: JsonObject) {
  const { signature } = block;
  const pieces = cutString(block.thinking).map((thinking) => ({
    type: 'thinking_delta',
    thinking,
  }));
  return {
    start: { ...block, thinking: '', signature: '' },
    deltas: [...pieces, ...(signature ? [{ type: 'signature_delta', signature }] : [])],
  };
}

/** The API opens every input with an empty piece, and sends nothing more for an empty object. */
function inputDeltas(input: unknown) {
  const json = JSON.stringify(input ?? {});
  return ['', ...(json === '{}' ? [] : cutString(json))].map((partial_json) => ({
    type: 'input_json_delta',
    partial_json,
  }));
}

/** Cuts into some 200 pieces at most, and never inside a surrogate pair. */
function cutString(value: unknown): readonly string[] {
  const text = typeof value === 'string' ? value : '';
  const size = Math.max(9, Math.ceil(text.length / 200));
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const isPairCut = (text.codePointAt(start + size - 1) ?? 0) > 0xffff;
    const end = start + size + (isPairCut ? 1 : 0);
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

/** What a client reads from raw events: needed to check what it sends back later. */
export function readStreamEvents(events: readonly unknown[]): SentMessage {
  const blocks = new Map<unknown, Record<string, unknown>>();
  let stopReason: string | null = null;
  for (const event of events) {
    if (!isJsonObject(event)) continue;
    const { index, content_block, delta } = event;
    if (isJsonObject(content_block)) blocks.set(index, { ...content_block });
    if (!isJsonObject(delta)) continue;
    if (typeof delta.stop_reason === 'string') stopReason = delta.stop_reason;
    const block = blocks.get(index);
    if (block) addDelta(block, delta);
  }
  return { content: [...blocks.values()], stop_reason: stopReason };
}

function addDelta(block: Record<string, unknown>, delta: JsonObject): void {
  for (const field of ['text', 'thinking', 'signature']) {
    const [before, piece] = [block[field] ?? '', delta[field]];
    if (typeof before === 'string' && typeof piece === 'string') block[field] = before + piece;
  }
}
