/** Inputs and outcomes for runs that are played by hand. */
import type { EventFrom, InputFrom } from 'xstate';
import type { agentLoop } from '../../machines/agent-loop.ts';
import { type Limits, limitsOf } from '../../src/core/budget.ts';
import type { ErrorCode } from '../../src/core/failure.ts';
import {
  type ContentBlock,
  type Message,
  type ToolUse,
  text,
  userMessage,
} from '../../src/core/message.ts';
import {
  type AttemptPlan,
  firstAttempt,
  type ModelOutcome,
  noUsage,
  type StopReason,
} from '../../src/core/reply.ts';
import { defaultRetry } from '../../src/core/retry.ts';
import type { ModelSettings, RunSettings } from '../../src/core/run-context.ts';
import type { ToolOutcome, ToolPolicy } from '../../src/core/tool-call.ts';

type LoopEvent = EventFrom<typeof agentLoop>;

/** One token costs one micro-dollar, so that sums are easy to follow. */
export const sampleModel: ModelSettings = {
  id: 'sample',
  provider: 'scripted',
  price: { input: 1, output: 1, cacheWrite: 1, cacheWriteLong: 1 },
  maxOutputTokens: 100,
  minOutputTokens: 20,
  contextWindow: 10_000,
};

export const sampleTool = (policy: Partial<ToolPolicy> & Pick<ToolPolicy, 'name'>): ToolPolicy => ({
  effect: 'read',
  maxCalls: null,
  maxRetries: 0,
  maxCostMicros: 0,
  isRepeatable: true,
  onInterrupted: 'ask',
  ...policy,
});

const sampleTools: readonly ToolPolicy[] = [
  sampleTool({ name: 'read' }),
  sampleTool({ name: 'put', effect: 'idempotent', maxRetries: 1, maxCostMicros: 5 }),
  sampleTool({ name: 'mail', effect: 'once' }),
];

export function runInput({
  settings = {},
  limits = {},
  messages = [userMessage('begin')],
}: {
  readonly settings?: Partial<RunSettings>;
  readonly limits?: Partial<Limits>;
  readonly messages?: readonly Message[];
} = {}): InputFrom<typeof agentLoop> {
  return {
    settings: {
      runId: 'run_1',
      agent: null,
      models: [sampleModel],
      tools: sampleTools,
      prefixTokens: 50,
      onLimit: 'stop',
      onTruncated: 'stop',
      retry: { ...defaultRetry, maxRetries: 1 },
      compactAtTokens: null,
      ...settings,
    },
    limits: { ...limitsOf({}), ...limits },
    messages,
  };
}

export const toolUse = (id: string, name: string, input: ToolUse['input'] = {}): ToolUse => ({
  type: 'tool_use',
  id,
  name,
  input,
});

export const reply = (
  stopReason: StopReason,
  ...content: readonly ContentBlock[]
): ModelOutcome => ({
  kind: 'reply',
  activeMs: 1,
  reply: {
    content,
    stopReason,
    rawStopReason: stopReason === 'unknown' ? 'a_new_reason' : stopReason,
    usage: { ...noUsage, inputTokens: 40, outputTokens: 10 },
    model: 'sample',
  },
});

export const says = (said: string, stopReason: StopReason = 'end_turn'): ModelOutcome =>
  reply(stopReason, text(said));

export const asksFor = (...uses: readonly ToolUse[]): ModelOutcome => reply('tool_use', ...uses);

export const lost = { kind: 'lost', activeMs: 1 } as const;

export const failedWith = (
  code: ErrorCode,
  { isRetryable = false, mayHaveBilled = false, retryAt = 0, isStreamTrouble = false } = {},
) =>
  ({
    kind: 'failed',
    activeMs: 1,
    failure: { code, message: code },
    isRetryable,
    mayHaveBilled,
    isStreamTrouble,
    retryAt,
  }) as const;

export const again = (plan: Partial<AttemptPlan>, mayHaveBilled: boolean): ModelOutcome => ({
  kind: 'again',
  activeMs: 1,
  plan: { ...firstAttempt, ...plan },
  mayHaveBilled,
});

export const answered = (callId: string, said = 'ok'): ToolOutcome => ({
  callId,
  result: { type: 'tool_result', tool_use_id: callId, content: said },
  ending: 'done',
  costMicros: 2,
  activeMs: 1,
});

export const modelDone = (output: ModelOutcome): LoopEvent => ({
  type: 'xstate.done.actor.modelCall',
  actorId: 'modelCall',
  output,
});

export const toolDone = (outcome: ToolOutcome): LoopEvent => ({
  type: `xstate.done.actor.tool.${outcome.callId}`,
  actorId: `tool.${outcome.callId}`,
  output: outcome,
});

export const compactDone = (messages: readonly Message[] | null): LoopEvent => ({
  type: 'xstate.done.actor.compact',
  actorId: 'compact',
  output: { messages, activeMs: 1 },
});

export const deadlineDone: LoopEvent = {
  type: 'xstate.done.actor.deadline',
  actorId: 'deadline',
  output: undefined,
};

export const modelBroke: LoopEvent = {
  type: 'xstate.error.actor.modelCall',
  actorId: 'modelCall',
  error: new Error('broken'),
};

export const compactBroke: LoopEvent = {
  type: 'xstate.error.actor.compact',
  actorId: 'compact',
  error: new Error('broken'),
};

export const toolBroke = (callId: string): LoopEvent => ({
  type: `xstate.error.actor.tool.${callId}`,
  actorId: `tool.${callId}`,
  error: new Error('broken'),
});

export const waitsForApproval = (callId: string, argumentsHash = 'hash'): LoopEvent => ({
  type: 'call.waits',
  callId,
  wait: { for: 'approval', argumentsHash },
});

export const waitsForSettlement = (callId: string): LoopEvent => ({
  type: 'call.waits',
  callId,
  wait: { for: 'settlement' },
});

export const works = (callId: string, isRunning: boolean): LoopEvent => ({
  type: 'call.works',
  callId,
  isRunning,
});
