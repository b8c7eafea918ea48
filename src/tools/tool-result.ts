import { canonicalJson, isJsonObject, type Json } from '../core/json.ts';
import {
  type ContentBlock,
  errorResult,
  isBlank,
  type OtherBlock,
  type ToolResult,
  text,
} from '../core/message.ts';
import { limitOutput } from '../core/output-limit.ts';
import { microsOfUsd } from '../core/price.ts';
import { describeThrown, stringifyToolOutput } from '../core/stringify.ts';
import type { ToolEffect } from '../core/tool-call.ts';
import { toWellFormed } from '../core/well-formed.ts';
import { isToolOutput, type ToolOutput } from './tool.ts';

interface Limit {
  /** Most characters of all text in the result together. Blocks that are not text have no limit here. */
  readonly maxChars: number;
}

const unexplainedFailure = 'The tool failed without saying why.';
const carriedTypes = new Set(['image', 'document', 'search_result', 'tool_reference']);
const maxCostMicros = 1_000_000_000_000;

/**
 * What a tool returned, as the answer to its call, and what it spent; never throws. Text is well-formed and limited,
 * an error is text and never blank. A cost that is not a positive number counts as none.
 */
export function resultOf(
  callId: string,
  output: unknown,
  limit: Limit,
): { readonly result: ToolResult; readonly costMicros: number } {
  try {
    if (isToolOutput(output)) return readToolOutput(callId, output, limit);
    return { result: textResult(callId, output, limit), costMicros: 0 };
  } catch (thrown) {
    return { result: failureOf(callId, thrown, limit), costMicros: 0 };
  }
}

/** What a tool threw, as an error result that is never blank; never throws. */
export function failureOf(callId: string, thrown: unknown, limit: Limit): ToolResult {
  return toError(callId, describeThrown(thrown), limit);
}

/** The answer to a call that took too long. Of a `once` tool it says that the effect may have happened. */
export function timeoutResult(
  callId: string,
  name: string,
  timeoutMs: number,
  effect: ToolEffect,
): ToolResult {
  const what = `The tool "${toWellFormed(name)}" timed out after ${timeoutMs} ms.`;
  const warning = ' It was stopped before its result was known, so it may have taken effect.';
  return errorResult(callId, effect === 'once' ? what + warning : what);
}

function readToolOutput(callId: string, { content, isError, costUsd }: ToolOutput, limit: Limit) {
  const costMicros = toMicros(costUsd);
  if (!Array.isArray(content)) {
    const written = stringifyToolOutput(content);
    const answer = isError ? toError : textResult;
    return { result: answer(callId, written, limit), costMicros };
  }
  const blocks = content.map(toSendable);
  const result = isError
    ? toError(callId, flatten(blocks), limit)
    : blocksResult(callId, blocks, limit);
  return { result, costMicros };
}

function textResult(callId: string, output: unknown, { maxChars }: Limit): ToolResult {
  const content = toWellFormed(limitOutput(stringifyToolOutput(output), maxChars));
  return { type: 'tool_result', tool_use_id: callId, content };
}

function blocksResult(
  callId: string,
  blocks: readonly ContentBlock[],
  { maxChars }: Limit,
): ToolResult {
  const lengths = blocks.flatMap((block) => (block.type === 'text' ? [block.text.length] : []));
  const shareChars = fairShare(lengths, maxChars);
  const content = blocks
    .map((block) => (block.type === 'text' ? text(limitOutput(block.text, shareChars)) : block))
    .filter((block) => block.type !== 'text' || !isBlank(block.text));
  return { type: 'tool_result', tool_use_id: callId, content: content.length > 0 ? content : '' };
}

function toError(callId: string, why: string, { maxChars }: Limit): ToolResult {
  const limited = toWellFormed(limitOutput(why, maxChars));
  return errorResult(callId, isBlank(limited) ? unexplainedFailure : limited);
}

/** The API takes only text in an error. */
function flatten(blocks: readonly ContentBlock[]): string {
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const leftOut = blocks.flatMap((block) => (block.type === 'text' ? [] : [block.type]));
  const said = texts.every(isBlank) ? [unexplainedFailure] : texts.filter((line) => !isBlank(line));
  if (leftOut.length === 0) return said.join('\n');
  return [...said, `[Left out, as an error is text only: ${leftOut.join(', ')}]`].join('\n');
}

/**
 * The block as a request may hold it in a tool result. One that is not JSON, or of a type that has no place there,
 * is shown to the model as text.
 */
function toSendable(block: unknown): ContentBlock {
  const copy = copyJson(block);
  if (isJsonObject(copy) && copy.type === 'text' && typeof copy.text === 'string') {
    return text(copy.text);
  }
  return isCarried(copy) ? copy : text(stringifyToolOutput(block));
}

const isCarried = (block: Json): block is OtherBlock =>
  isJsonObject(block) && typeof block.type === 'string' && carriedTypes.has(block.type);

/** A copy with well-formed text, or null for what is not JSON. */
function copyJson(value: unknown): Json {
  try {
    return JSON.parse(canonicalJson(value as Json), (_key, inner: unknown) =>
      typeof inner === 'string' ? toWellFormed(inner) : inner,
    );
  } catch {
    return null;
  }
}

/** The longest that each text may be, so that short ones stay whole and all together keep to the limit. */
function fairShare(lengths: readonly number[], maxChars: number): number {
  let roomChars = maxChars;
  let textsLeft = lengths.length;
  for (const length of lengths.toSorted((left, right) => left - right)) {
    const share = Math.floor(roomChars / textsLeft);
    if (length > share) return share;
    roomChars -= length;
    textsLeft -= 1;
  }
  return maxChars;
}

function toMicros(costUsd: unknown): number {
  if (typeof costUsd !== 'number' || !(costUsd > 0)) return 0;
  return Math.min(microsOfUsd(costUsd), maxCostMicros);
}
