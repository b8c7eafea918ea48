import { blockProblem } from '../core/block-shape.ts';
import { isJsonObject } from '../core/json.ts';
import { type ModelReply, noUsage, stopReasons } from '../core/reply.ts';
import { ProviderError } from '../providers/provider.ts';

/**
 * The reply, if it is one. A model may be anybody's code, and what it gives decides what runs and what was spent.
 * @throws ProviderError `invalid_response`, not to be retried, and charged
 */
export function checkReply(reply: ModelReply): ModelReply {
  const problem = replyProblem(reply);
  if (problem === null) return reply;
  throw new ProviderError(
    'invalid_response',
    `The model gave no usable reply: expected ${problem}.`,
    {
      isRetryable: false,
      mayHaveBilled: true,
    },
  );
}

function replyProblem(reply: unknown): string | null {
  if (!isJsonObject(reply)) return 'an object';
  const { content, stopReason, rawStopReason, usage, container } = reply;
  if (!Array.isArray(content)) return 'a list of blocks as its content';
  const problem = content.map(blockProblem).findIndex((found) => found !== null);
  if (problem !== -1) return `${blockProblem(content[problem])} as content[${problem}]`;
  if (![...stopReasons, 'unknown'].includes(String(stopReason))) return 'a known stop reason';
  if (rawStopReason !== null && typeof rawStopReason !== 'string') {
    return "the provider's stop reason as a text or null";
  }
  if (container !== undefined && typeof container !== 'string') return 'a container id as a text';
  return isUsage(usage) ? null : 'whole numbers of tokens as its usage';
}

const isUsage = (usage: unknown): boolean =>
  isJsonObject(usage) &&
  Object.keys(noUsage).every(
    (name) => Number.isSafeInteger(usage[name]) && Number(usage[name]) >= 0,
  );
