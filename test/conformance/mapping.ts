/** Where the words of the case format and those of Pawl differ. Everything else has one name. */
import type {
  AnthropicOptions,
  Budget,
  ErrorCode,
  Message,
  RetryPolicy,
  RunResult,
  ToolChoice,
  ToolEffect,
} from 'pawl';
import type { CaseMessage, CaseTool, Config } from './load-case.ts';

const codes: Partial<Record<ErrorCode, string>> = {
  cancelled: 'aborted',
  compaction_failed: 'context_exceeded',
  pauses_exceeded: 'budget_exceeded',
  run_exists: 'run_locked',
  // A text that is no snapshot can only be taken for the id of a run.
  unknown_run: 'snapshot_incompatible',
};

export const toCaseCode = (code: ErrorCode): string => codes[code] ?? code;

const truncating = new Set(['maxReplyTokens', 'maxContinuations', 'contextWindow']);

export function toCaseStatus({ status, limit }: RunResult): string {
  switch (status) {
    case 'cancelled':
      return 'aborted';
    case 'exhausted':
      return truncating.has(limit?.name ?? '') ? 'truncated' : 'limit';
    default:
      return status;
  }
}

/** The answers to "may it run twice?". */
export function effectOf({ sideEffect, idempotent }: CaseTool): ToolEffect {
  if (!sideEffect) return 'read';
  return idempotent ? 'idempotent' : 'once';
}

/** Limits that a case does not name do not exist in it; `maxTurns` keeps its default, so that no play is endless. */
export function budgetOf({ limits = {} }: Config): Budget {
  const { maxTurns, maxTotalTokens, maxToolCalls, runTimeoutMs, maxRepeats } = limits;
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxTotalTokens !== undefined && { maxTotalTokens }),
    ...(maxToolCalls !== undefined && { maxToolCalls }),
    ...(runTimeoutMs !== undefined && { maxActiveMs: runTimeoutMs }),
    maxRepeats: maxRepeats ?? Number.POSITIVE_INFINITY,
    maxMalformedReplies: Number.POSITIVE_INFINITY,
  };
}

/** `maxMs` is the longest wait of any kind, also of one that the server asks for. */
export function retryOf({ retry = {} }: Config): Partial<RetryPolicy> {
  const { maxMs } = retry;
  return { ...retry, ...(maxMs !== undefined && { maxRetryAfterMs: maxMs }) };
}

export function toolChoiceOf({ toolChoice = 'auto' }: Config): ToolChoice {
  const choice = typeof toolChoice === 'string' ? { type: toolChoice } : toolChoice;
  return 'name' in choice && choice.name !== undefined
    ? { tool: choice.name }
    : (choice.type as 'auto' | 'any' | 'none');
}

export function modelOptionsOf(config: Config, baseURL: string): AnthropicOptions {
  const { apiKey = 'sk-test', maxTokens, thinking, caching, pricing, limits = {} } = config;
  return {
    baseURL,
    apiKey,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(thinking && { thinking: { type: 'enabled' as const, ...thinking } }),
    ...(caching !== undefined && { caching: caching ? ('5m' as const) : false }),
    ...(limits.streamIdleMs !== undefined && { streamIdleMs: limits.streamIdleMs }),
    ...(pricing && { price: priceOf(pricing) }),
  };
}

const priceOf = (pricing: NonNullable<Config['pricing']>) => ({
  input: pricing.inputPerM ?? 0,
  output: pricing.outputPerM ?? 0,
  ...(pricing.cacheReadPerM !== undefined && { cacheRead: pricing.cacheReadPerM }),
  ...(pricing.cacheWritePerM !== undefined && { cacheWrite: pricing.cacheWritePerM }),
});

export const toMessage = ({ role, content }: CaseMessage): Message => ({
  role,
  content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
});
