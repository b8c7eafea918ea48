/** Reads what an event from outside carries. A type can't hold an embedder to it, and no step may ever throw. */
import type { Limits } from '../src/core/budget.ts';
import { isJsonObject } from '../src/core/json.ts';
import type { ContentBlock } from '../src/core/message.ts';
import type { Wait } from '../src/core/tool-call.ts';

/** Blocks that only the model writes, or that only a tool call gives. */
const notForUsers = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking']);

/** The blocks that a user may say; whatever else there is gets left out. */
export const blocksIn = (content: unknown): readonly ContentBlock[] =>
  Array.isArray(content) ? content.filter(isUserBlock) : [];

function isUserBlock(block: unknown): boolean {
  if (!isJsonObject(block) || typeof block.type !== 'string') return false;
  return block.type === 'text' ? typeof block.text === 'string' : !notForUsers.has(block.type);
}

/** The limits among these that `known` has too, with values that limits can have. */
export const limitsIn = (limits: unknown, known: Limits): Partial<Limits> =>
  isJsonObject(limits)
    ? Object.fromEntries(
        Object.entries(limits).filter(([name, max]) => Object.hasOwn(known, name) && isLimit(max)),
      )
    : {};

const isLimit = (max: unknown): boolean => max === null || (typeof max === 'number' && max >= 0);

export const isWait = (wait: unknown): wait is Wait =>
  isJsonObject(wait) &&
  (wait.for === 'settlement' ||
    (wait.for === 'approval' && typeof wait.argumentsHash === 'string'));

export const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' ? value : null;

export const countOrZero = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : 0;
