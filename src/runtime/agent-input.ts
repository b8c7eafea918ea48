/** What an agent's options become: the bodies behind its machine, and the input of a run. */
import { randomUUID } from 'node:crypto';
import { limitsOf } from '../core/budget.ts';
import { copyJson } from '../core/copy-json.ts';
import { repairHistory } from '../core/history.ts';
import { microsOfUsd } from '../core/price.ts';
import { redactor } from '../core/redact.ts';
import { defaultRetry } from '../core/retry.ts';
import type { ModelSettings, OnLimit, RunInput, RunSettings } from '../core/run-context.ts';
import type { ToolPolicy } from '../core/tool-call.ts';
import { utf8Length } from '../core/utf8.ts';
import type { Model } from '../providers/provider.ts';
import { checkPermissions } from '../tools/permissions.ts';
import type { Tool } from '../tools/tool.ts';
import type { AgentOptions, InputOptions, Prompt } from './agent-options.ts';
import type { AgentParts } from './agent-parts.ts';
import { checkStartOptions } from './check-options.ts';
import { checkHistory, checkPrompt, checkRunId } from './checks.ts';
import { checkPriced } from './run-checks.ts';

export function partsOf(options: AgentOptions): AgentParts {
  const tools = options.tools ?? [];
  const { permissions = {} } = options;
  checkPermissions(
    permissions,
    tools.map(({ name }) => name),
  );
  return {
    models: [options.model, ...(options.fallbackModels ?? [])],
    system: options.system ?? '',
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    toolSpecs: tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    })),
    toolChoice: options.toolChoice ?? 'auto',
    streams: options.streams ?? true,
    permissions,
    maxOutputChars: options.maxOutputChars ?? 50_000,
    toolConcurrency: options.toolConcurrency ?? 8,
    compact: options.compaction?.compact ?? null,
    redactor: redactor(options.secrets ?? []),
    onEvent: options.onEvent ?? null,
    now: Date.now,
    random: Math.random,
  };
}

export function inputOf(
  options: AgentOptions,
  parts: AgentParts,
  prompt: Prompt,
  inputOptions: InputOptions,
): RunInput {
  checkStartOptions(inputOptions);
  const { history = [], runId, budget, onLimit } = inputOptions;
  const content = checkPrompt(prompt);
  checkHistory(history);
  const limits = limitsOf({ ...options.budget, ...budget });
  const settings = settingsOf(options, parts, { runId, onLimit });
  checkPriced(limits, settings.models, budget?.maxCostUsd ?? options.budget?.maxCostUsd);
  // Repaired here already: what repair adds to a request would be missing in the bound on its tokens.
  const messages = repairHistory([...copyJson(history), { role: 'user', content }]);
  const { deadlineAt } = limits;
  return { settings, limits, messages, ...(deadlineAt !== null && { atMs: parts.now() }) };
}

/** What stays as it is for the whole run. */
export const settingsOf = (
  options: AgentOptions,
  parts: AgentParts,
  { runId, onLimit }: { readonly runId: string | undefined; readonly onLimit: OnLimit | undefined },
): RunSettings => ({
  runId: runId === undefined ? `run_${randomUUID()}` : checkRunId(runId),
  agent: options.name ?? null,
  models: parts.models.map(modelSettings) as unknown as RunSettings['models'],
  tools: (options.tools ?? []).map(toolPolicy),
  prefixTokens: prefixTokens(parts),
  onLimit: onLimit ?? options.onLimit ?? 'stop',
  onTruncated: options.onTruncated ?? 'stop',
  retry: { ...defaultRetry, ...options.retry },
  compactAtTokens: options.compaction?.atTokens ?? null,
});

const modelSettings = (model: Model): ModelSettings => ({
  id: model.id,
  provider: model.provider,
  price: model.price,
  maxOutputTokens: model.maxOutputTokens,
  minOutputTokens: model.minOutputTokens,
  contextWindow: model.contextWindow,
});

const toolPolicy = (tool: Tool): ToolPolicy => ({
  name: tool.name,
  effect: tool.effect,
  maxCalls: tool.maxCalls,
  maxRetries: tool.maxRetries,
  maxCostMicros: microsOfUsd(tool.maxCostUsd),
  isRepeatable: tool.isRepeatable,
  onInterrupted: tool.onInterrupted,
});

/** What an API adds to a request by itself, at most: a frame, and for tools instructions of its own. */
const frameTokens = 64;
const toolFrameTokens = 700;

const prefixTokens = ({ system, toolSpecs }: AgentParts): number =>
  frameTokens +
  utf8Length(system) +
  (toolSpecs.length > 0 ? toolFrameTokens + utf8Length(JSON.stringify(toolSpecs)) : 0);
