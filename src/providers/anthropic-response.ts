import { parseJson } from '../core/json.ts';
import { textIn } from '../core/message.ts';
import type { ModelReply } from '../core/reply.ts';
import { interrupted, invalidResponse, readFault } from './anthropic-errors.ts';
import { readReply } from './anthropic-reply.ts';
import { replyAccumulator } from './anthropic-stream.ts';
import { type Delta, ProviderError } from './provider.ts';
import { readSse, type SseEvent } from './sse.ts';

/** How a response is to be read. */
export interface Reading {
  readonly model: string;
  /** Whether a stream was asked for. What came is told by its content type. */
  readonly streams: boolean;
  readonly onDelta: (delta: Delta) => void;
  /** Called whenever the wait for more of a stream begins. */
  readonly onWait: (hasEvents: boolean) => void;
}

/**
 * Reads a response with status 200 to its end, as a stream or in one piece, whichever it is.
 * @throws ProviderError when it is no complete answer.
 */
export async function readResponse(response: Response, reading: Reading): Promise<ModelReply> {
  const type = (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type === 'text/event-stream' || (type === '' && reading.streams)) {
    return readStream(response, reading);
  }
  if (type === 'application/json' || !reading.streams) return readWhole(response, reading);
  response.body?.cancel().catch(() => {});
  throw invalidResponse(`its content type is ${JSON.stringify(type?.slice(0, 80))}`, true);
}

async function readWhole(response: Response, { model, streams, onDelta }: Reading) {
  const body = await response.text().catch((error: unknown) => {
    throw new ProviderError('provider_error', `The answer broke off: ${readFault(error)}`, {
      isRetryable: true,
      mayHaveBilled: true,
    });
  });
  const parsed = parseJson(body);
  if (!parsed.ok) throw invalidResponse('the body is not JSON');
  const reply = readReply(parsed.value, model);
  if (streams) for (const delta of deltasOf(reply)) onDelta(delta);
  return reply;
}

/** A reader of deltas gets the whole text, if not piece by piece. */
const deltasOf = ({ content }: ModelReply): readonly Delta[] =>
  content.flatMap((block, index): readonly Delta[] =>
    block.type === 'text' && block.text !== ''
      ? [{ type: 'text', index, text: textIn([block]) }]
      : [],
  );

async function readStream(response: Response, { model, streams, onDelta, onWait }: Reading) {
  const accumulator = replyAccumulator(model);
  if (response.body === null) return accumulator.reply();
  const events = readSse(response.body, () => onWait(accumulator.hasEvents()));
  try {
    while (!accumulator.isComplete()) {
      const event = await nextEvent(events, accumulator.hasEvents());
      if (event === null) break;
      const delta = accumulator.take(event);
      if (delta !== null && streams) onDelta(delta);
    }
  } finally {
    await events.return();
  }
  return accumulator.reply();
}

async function nextEvent(events: AsyncGenerator<SseEvent, void>, hasEvents: boolean) {
  try {
    const next = await events.next();
    return next.done === true ? null : next.value;
  } catch (error) {
    throw interrupted(readFault(error), hasEvents);
  }
}
