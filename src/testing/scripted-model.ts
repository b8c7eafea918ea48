import * as check from '../core/check.ts';
import { historyProblems } from '../core/history.ts';
import { isJsonObject } from '../core/json.ts';
import { type ContentBlock, invalidJsonKey } from '../core/message.ts';
import type { Price } from '../core/price.ts';
import { type ModelReply, noUsage, type StopReason, stopReasons } from '../core/reply.ts';
import {
  type Model,
  type ModelCallOptions,
  type ModelRequest,
  ProviderError,
} from '../providers/provider.ts';
import {
  checkScript,
  readStreamEvents,
  type Script,
  type ScriptedError,
  type ScriptedReply,
  type ScriptedStream,
  toStreamEvents,
  toWireMessage,
  type WireMessage,
  type WireRequest,
} from './script.ts';

export interface ScriptedModelOptions {
  /** Default `scripted`. */
  readonly id?: string;
  /** Default: 1 US dollar per million input tokens, 5 per million output tokens. */
  readonly price?: Price | null;
  /** Default 1,024. */
  readonly maxOutputTokens?: number;
  /** Default 16. */
  readonly minOutputTokens?: number;
  readonly contextWindow?: number;
}

/** A model in this process that plays a script, with the requests it got. */
export interface ScriptedModel extends Model {
  readonly requests: readonly ModelRequest[];
}

/**
 * Plays a script without any network: replies in order, streamed in small pieces. A call beyond the script, and a
 * history that an API would refuse, fail with `provider_invalid_request`. `pawl/testing` has the same script as a server.
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  checkScript(script);
  checkOptions(options);
  const requests: ModelRequest[] = [];
  const usedToolUseIds = new Set<string>();
  const id = options.id ?? 'scripted';
  return {
    id,
    provider: 'scripted',
    price: options.price === undefined ? { input: 1, output: 5 } : options.price,
    maxOutputTokens: options.maxOutputTokens ?? 1_024,
    minOutputTokens: options.minOutputTokens ?? 16,
    contextWindow: options.contextWindow ?? null,
    requests,
    async call(request, callOptions) {
      callOptions.signal.throwIfAborted();
      const [problem] = historyProblems(request.messages);
      if (problem && !endsPaused(request)) throw refusal(`${problem.path}: ${problem.problem}`);
      requests.push(request);
      const number = requests.length;
      const body = toWireRequest(id, request);
      const reply = await replyFor(script, number, body);
      if (reply === undefined) throw refusal(`no reply is scripted for call ${number}`);
      if (typeof reply === 'object' && 'error' in reply) throw scriptedFailure(reply);
      if (typeof reply === 'object' && 'stream' in reply) {
        return playStream(reply, request, callOptions, id);
      }
      const requestBytes = Buffer.byteLength(JSON.stringify(body));
      const message = toWireMessage(reply, { number, model: id, requestBytes, usedToolUseIds });
      noteToolUses(message, usedToolUseIds);
      if (request.streams) await stream(toStreamEvents(message), callOptions);
      return toReply(message);
    },
  };
}

function checkOptions(options: ScriptedModelOptions): void {
  check.checkFields('options', options, optionNames);
  check.checkText('id', options.id);
  check.checkPrice('price', options.price);
  check.checkWhole('maxOutputTokens', options.maxOutputTokens, 1);
  check.checkWhole('minOutputTokens', options.minOutputTokens, 1);
  check.checkWhole('contextWindow', options.contextWindow, 1);
}

const optionNames = ['id', 'price', 'maxOutputTokens', 'minOutputTokens', 'contextWindow'];

/** The last message may be the model's own when its turn was paused. */
const endsPaused = ({ messages }: ModelRequest): boolean => messages.at(-1)?.role === 'assistant';

async function replyFor(
  script: Script,
  number: number,
  body: WireRequest,
): Promise<ScriptedReply | undefined> {
  return typeof script === 'function' ? script({ number, body, headers: {} }) : script[number - 1];
}

const toWireRequest = (model: string, request: ModelRequest): WireRequest => ({
  model,
  max_tokens: request.maxTokens,
  system: request.system,
  messages: request.messages as WireRequest['messages'],
  tools: request.tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  })),
  stream: request.streams,
});

function noteToolUses({ content }: WireMessage, used: Set<string>): void {
  for (const block of content) {
    if (isJsonObject(block) && block.type === 'tool_use') used.add(String(block.id));
  }
}

async function stream(
  events: readonly unknown[],
  { signal, onDelta }: ModelCallOptions,
): Promise<void> {
  for (const event of events) {
    // Each piece in a turn of its own, as from a network: whoever watches can act in between.
    await Promise.resolve();
    signal.throwIfAborted();
    if (!isJsonObject(event) || !isJsonObject(event.delta)) continue;
    const index = Number(event.index);
    const { type, text, thinking, partial_json } = event.delta;
    if (type === 'text_delta') onDelta({ type: 'text', index, text: String(text) });
    if (type === 'thinking_delta') onDelta({ type: 'thinking', index, text: String(thinking) });
    if (type === 'input_json_delta') {
      onDelta({ type: 'tool_input', index, text: String(partial_json) });
    }
  }
}

async function playStream(
  { stream: events }: ScriptedStream,
  request: ModelRequest,
  options: ModelCallOptions,
  model: string,
): Promise<ModelReply> {
  const end = events.findIndex(
    (event) => isJsonObject(event) && ('$hang' in event || '$reset' in event),
  );
  const played = end === -1 ? events : events.slice(0, end);
  if (request.streams) await stream(played, options);
  const last = events[end];
  if (isJsonObject(last) && '$hang' in last) await aborted(options.signal);
  if (end !== -1 || !played.some((event) => isJsonObject(event) && event.type === 'message_stop')) {
    throw new ProviderError(
      'stream_interrupted',
      'The stream ended before the reply was complete.',
      {
        isRetryable: true,
        mayHaveBilled: true,
        isStreamTrouble: played.length === 0,
      },
    );
  }
  const { content, stop_reason } = readStreamEvents(played);
  return { ...toReply({ content, stop_reason: stop_reason ?? 'end_turn', model }), usage: noUsage };
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

function toReply({
  content,
  stop_reason,
  model,
  usage,
}: Pick<WireMessage, 'content' | 'stop_reason' | 'model'> & Partial<WireMessage>): ModelReply {
  const isKnown = (stopReasons as readonly string[]).includes(stop_reason);
  return {
    content: content.map(withObjectInput) as readonly ContentBlock[],
    stopReason: isKnown ? (stop_reason as StopReason) : 'unknown',
    rawStopReason: stop_reason,
    model,
    usage: {
      ...noUsage,
      inputTokens: usage?.input_tokens ?? 0,
      outputTokens: usage?.output_tokens ?? 0,
      cacheReadTokens: usage?.cache_read_input_tokens ?? 0,
      cacheWriteTokens: usage?.cache_creation_input_tokens ?? 0,
    },
  };
}

/** As behind the API: arguments that are no object are those of unreadable JSON. */
function withObjectInput(block: unknown): unknown {
  if (!isJsonObject(block) || block.type !== 'tool_use') return block;
  const { input = {} } = block;
  return isJsonObject(input)
    ? block
    : { ...block, input: { [invalidJsonKey]: JSON.stringify(input) } };
}

const refusal = (why: string): ProviderError =>
  new ProviderError('provider_invalid_request', `The scripted model refused the request: ${why}.`, {
    isRetryable: false,
    mayHaveBilled: false,
  });

function scriptedFailure({ error: { status, message, headers = {} } }: ScriptedError) {
  const code =
    status === 429
      ? 'provider_rate_limited'
      : status === 529
        ? 'provider_overloaded'
        : status >= 500
          ? 'provider_error'
          : 'provider_invalid_request';
  const retryAfter = headers['retry-after'];
  return new ProviderError(code, message, {
    isRetryable: status === 429 || status >= 500,
    mayHaveBilled: false,
    retryAfterMs: retryAfter === undefined ? null : Number(retryAfter) * 1_000,
  });
}
