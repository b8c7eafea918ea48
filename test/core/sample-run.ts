import { type Limits, limitsOf } from '../../src/core/budget.ts';
import type { Message, ToolUse } from '../../src/core/message.ts';
import { userMessage } from '../../src/core/message.ts';
import { type ModelReply, noUsage } from '../../src/core/reply.ts';
import { defaultRetry } from '../../src/core/retry.ts';
import {
  type ModelSettings,
  type RunContext,
  type RunSettings,
  startContext,
} from '../../src/core/run-context.ts';
import type { ToolPolicy } from '../../src/core/tool-call.ts';

export const unlimited: Limits = {
  ...limitsOf({}),
  maxTurns: null,
  maxRepeats: null,
  maxMalformedReplies: null,
};

export const sampleModel: ModelSettings = {
  id: 'model',
  provider: 'test',
  price: { input: 2, output: 10 },
  maxOutputTokens: 1_000,
  minOutputTokens: 100,
  contextWindow: 200_000,
};

export const tool = (name: string, policy: Partial<ToolPolicy> = {}): ToolPolicy => ({
  name,
  effect: 'read',
  maxCalls: null,
  maxRetries: 0,
  maxCostMicros: 0,
  isRepeatable: false,
  onInterrupted: 'ask',
  ...policy,
});

export const sampleSettings: RunSettings = {
  runId: 'run',
  agent: null,
  models: [sampleModel],
  tools: [tool('search'), tool('mail', { effect: 'once' }), tool('poll', { isRepeatable: true })],
  prefixTokens: 100,
  onLimit: 'stop',
  onTruncated: 'stop',
  retry: defaultRetry,
  compactAtTokens: null,
};

/** A run that was just asked something. */
export function sampleRun(
  settings: Partial<RunSettings> = {},
  limits: Partial<Limits> = {},
  messages: readonly Message[] = [userMessage('hello')],
): RunContext {
  return startContext({
    settings: { ...sampleSettings, ...settings },
    limits: { ...unlimited, ...limits },
    messages,
  });
}

export const toolUse = (id: string, name = 'search', input: ToolUse['input'] = {}): ToolUse => ({
  type: 'tool_use',
  id,
  name,
  input,
});

export const reply = (change: Partial<ModelReply> = {}): ModelReply => ({
  content: [{ type: 'text', text: 'hi' }],
  stopReason: 'end_turn',
  rawStopReason: 'end_turn',
  usage: { ...noUsage, inputTokens: 50, outputTokens: 10 },
  model: 'model',
  ...change,
});

export const asking = (...uses: readonly ToolUse[]): ModelReply =>
  reply({ content: uses, stopReason: 'tool_use', rawStopReason: 'tool_use' });
