import type Anthropic from '@anthropic-ai/sdk';
import type { JsonObject } from '../core/json.ts';
import { type KnownModel, knownModel } from '../core/prices.ts';
import type { ModelReply } from '../core/reply.ts';
import { wellFormedJson } from '../core/well-formed-json.ts';
import { requestFailure } from './anthropic-errors.ts';
import { type AnthropicOptions, checkOptions } from './anthropic-options.ts';
import { type RequestSettings, requestBody } from './anthropic-request.ts';
import { readResponse } from './anthropic-response.ts';
import { type CallWatch, watchCall } from './call-watch.ts';
import { type Model, type ModelCallOptions, type ModelRequest, ProviderError } from './provider.ts';

const defaultMaxTokens = 16_000;
const defaultMinTokens = 256;
const defaultStreamIdleMs = 60_000;
const defaultTimeoutMs = 600_000;

type ClientOptions = Pick<AnthropicOptions, 'apiKey' | 'baseURL'>;

interface Connection {
  readonly client: () => Promise<Anthropic>;
  readonly headers: Headers;
  readonly settings: RequestSettings;
  readonly streamIdleMs: number;
  readonly timeoutMs: number;
}

/**
 * A model of Anthropic's Messages API, over the official SDK, which is loaded at the first call.
 * @throws PawlError `invalid_input` for options that can't be used.
 */
export function anthropic(modelId: string, options: AnthropicOptions = {}): Model {
  checkOptions(modelId, options);
  const known = knownModel(modelId);
  const connection = connect(modelId, options);
  const maxOutputTokens = maxTokensOf(options, known);
  return {
    id: modelId,
    provider: 'anthropic',
    maxOutputTokens,
    minOutputTokens: Math.min(minTokensOf(options), maxOutputTokens),
    contextWindow:
      options.contextWindow === undefined ? (known?.contextWindow ?? null) : options.contextWindow,
    price: options.price === undefined ? (known?.price ?? null) : options.price,
    call: (request, callOptions) => callModel(connection, request, callOptions),
  };
}

const maxTokensOf = ({ maxTokens }: AnthropicOptions, known: KnownModel | null): number =>
  maxTokens ?? Math.min(defaultMaxTokens, known?.maxOutputTokens ?? defaultMaxTokens);

function minTokensOf({ minTokens, thinking }: AnthropicOptions): number {
  const budget = thinking?.type === 'enabled' ? thinking.budgetTokens : 0;
  return minTokens ?? budget + defaultMinTokens;
}

function connect(model: string, options: AnthropicOptions): Connection {
  const {
    caching = '5m',
    serverTools = [],
    extraBody = {},
    timeoutMs = defaultTimeoutMs,
  } = options;
  return {
    client: clientOf(options),
    headers: headersOf(options),
    settings: wellFormedJson({ ...options, model, caching, serverTools, extraBody }),
    streamIdleMs: options.streamIdleMs ?? defaultStreamIdleMs,
    timeoutMs,
  };
}

/** Makes the client at the first call, and again when that failed. */
function clientOf(options: ClientOptions): () => Promise<Anthropic> {
  let made: Promise<Anthropic> | null = null;
  return () => {
    made ??= importClient(options).catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}

async function importClient(options: ClientOptions) {
  const { default: Client } = await import('@anthropic-ai/sdk');
  return new Client({ ...options, maxRetries: 0 });
}

function headersOf({ headers = {}, betas = [] }: AnthropicOptions): Headers {
  const all = new Headers(headers);
  for (const beta of betas) all.append('anthropic-beta', beta);
  return all;
}

async function callModel(
  connection: Connection,
  request: ModelRequest,
  { signal, onDelta }: ModelCallOptions,
): Promise<ModelReply> {
  signal.throwIfAborted();
  const { timeoutMs } = connection;
  const watch = watchCall(signal, timeoutMs, () => tookTooLong(timeoutMs));
  const exchanged = exchange(connection, request, watch, onDelta);
  try {
    return await Promise.race([exchanged, watch.ended]);
  } catch (error) {
    // What an ended call fails with is only a consequence of its end.
    throw watch.signal.aborted ? watch.signal.reason : error;
  } finally {
    watch.dispose();
  }
}

async function exchange(
  connection: Connection,
  request: ModelRequest,
  watch: CallWatch,
  onDelta: ModelCallOptions['onDelta'],
): Promise<ModelReply> {
  const { settings, streamIdleMs } = connection;
  // Without streaming the headers come with the answer, so silence before them means nothing.
  const onSent = (): void => {
    if (request.streams)
      watch.expectSignOfLife(streamIdleMs, () => fellSilent(streamIdleMs, false));
  };
  const response = await send(connection, requestBody(request, settings), watch.signal, onSent);
  watch.bearSilence();
  return readResponse(response, {
    model: settings.model,
    streams: request.streams,
    onDelta: (delta) => {
      if (!watch.signal.aborted) onDelta(delta);
    },
    onWait: (hasEvents) =>
      watch.expectSignOfLife(streamIdleMs, () => fellSilent(streamIdleMs, !hasEvents)),
  });
}

async function send(
  { client: getClient, headers, timeoutMs }: Connection,
  body: JsonObject,
  signal: AbortSignal,
  onSent: () => void,
): Promise<Response> {
  const secrets = [...headers.values()];
  try {
    const client = await getClient();
    secrets.push(client.apiKey ?? '', client.authToken ?? '');
    signal.throwIfAborted();
    // The SDK's types can't know the fields and blocks that are newer than they are.
    const params = body as unknown as Anthropic.MessageCreateParams;
    const options = { signal, headers, maxRetries: 0, timeout: timeoutMs };
    const response = client.messages.create(params, options).asResponse();
    onSent();
    return await response;
  } catch (error) {
    throw requestFailure(error, { nowMs: Date.now(), secrets });
  }
}

const tookTooLong = (timeoutMs: number): ProviderError =>
  new ProviderError('provider_error', `No complete answer within ${timeoutMs} ms.`, {
    isRetryable: true,
    mayHaveBilled: true,
  });

/** A server that sends no headers may be dead: asking it without streaming would only wait longer. */
const fellSilent = (streamIdleMs: number, isStreamTrouble: boolean): ProviderError =>
  new ProviderError('stream_timeout', `The stream was silent for ${streamIdleMs} ms.`, {
    isRetryable: true,
    mayHaveBilled: true,
    isStreamTrouble,
  });
