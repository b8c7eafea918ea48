import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { ContentBlock } from '../core/message.ts';
import {
  addUsage,
  type ModelReply,
  noUsage,
  type StopReason,
  stopReasons,
  type Usage,
} from '../core/reply.ts';
import { toWellFormed } from '../core/well-formed.ts';
import { readBlock } from './anthropic-blocks.ts';
import { invalidResponse, reportedFailure } from './anthropic-errors.ts';

/**
 * Reads a whole message of the Messages API.
 * @throws ProviderError when the body reports an error, or is no message.
 */
export function readReply(body: unknown, requestedModel: string): ModelReply {
  if (!isJsonObject(body)) throw invalidResponse('the body is not a JSON object');
  if (body.type === 'error') throw reportedFailure(body);
  const { stop_reason, stop_details, container, model } = body;
  const rawStopReason = typeof stop_reason === 'string' ? toWellFormed(stop_reason) : null;
  const stopReason = readStopReason(rawStopReason);
  return {
    content: readContent(body.content),
    stopReason,
    rawStopReason,
    usage: readUsage(body.usage),
    model: typeof model === 'string' && model !== '' ? toWellFormed(model) : requestedModel,
    ...(stopReason === 'refusal' && isJsonObject(stop_details)
      ? { refusal: readRefusal(stop_details) }
      : {}),
    ...(isJsonObject(container) && typeof container.id === 'string'
      ? { container: toWellFormed(container.id) }
      : {}),
  };
}

function readContent(content: Json | undefined): readonly ContentBlock[] {
  if (!Array.isArray(content)) throw invalidResponse('there is no content');
  return content.map((raw: unknown) => {
    const block = readBlock(raw);
    if (block === null) throw invalidResponse('a content block can not be read');
    return block;
  });
}

const known: ReadonlySet<string> = new Set(stopReasons);
const readStopReason = (raw: string | null): StopReason =>
  raw !== null && known.has(raw) ? (raw as StopReason) : 'unknown';

const readRefusal = ({ category, explanation }: JsonObject) => ({
  category: typeof category === 'string' ? toWellFormed(category) : null,
  explanation: typeof explanation === 'string' ? toWellFormed(explanation) : null,
});

/** Compactions on the server are billed, but the top-level counts leave them out. */
function readUsage(usage: Json | undefined): Usage {
  if (!isJsonObject(usage) || !isCount(usage.input_tokens) || !isCount(usage.output_tokens)) {
    throw invalidResponse('there is no usage');
  }
  const iterations: readonly unknown[] = Array.isArray(usage.iterations) ? usage.iterations : [];
  const compactions = iterations.filter(isJsonObject).filter(({ type }) => type === 'compaction');
  return addUsage(compactions.map(countsIn).reduce(addUsage, noUsage), countsIn(usage));
}

function countsIn(usage: JsonObject): Usage {
  const split = isJsonObject(usage.cache_creation) ? usage.cache_creation : {};
  const shortWrites = countOf(split.ephemeral_5m_input_tokens);
  const longWrites = countOf(split.ephemeral_1h_input_tokens);
  const total = usage.cache_creation_input_tokens;
  const writes = isCount(total) ? total : shortWrites + longWrites;
  return {
    inputTokens: countOf(usage.input_tokens),
    outputTokens: countOf(usage.output_tokens),
    cacheReadTokens: countOf(usage.cache_read_input_tokens),
    cacheWriteTokens: writes,
    // A stream tells the split once, at its start, and the total may grow after that: the dearer kind grows.
    cacheWriteLongTokens: longWrites > 0 ? Math.max(0, writes - shortWrites) : 0,
  };
}

const isCount = (value: Json | undefined): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
const countOf = (value: Json | undefined): number => (isCount(value) ? value : 0);
