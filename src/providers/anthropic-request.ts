import { isJsonObject, type JsonObject } from '../core/json.ts';
import { type ContentBlock, isBlank, type Message } from '../core/message.ts';
import { isThinking } from '../core/thinking.ts';
import {
  type CachedParts,
  type Caching,
  markForCache,
  type WireMessage,
} from './anthropic-cache.ts';
import type { ModelRequest, ToolSpec } from './provider.ts';

export type Thinking =
  | { readonly type: 'adaptive' }
  | { readonly type: 'enabled'; readonly budgetTokens: number }
  | { readonly type: 'disabled' };

/** What every request of a model has in common. */
export interface RequestSettings {
  readonly model: string;
  readonly caching: Caching;
  readonly serverTools: readonly JsonObject[];
  readonly thinking?: Thinking;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopSequences?: readonly string[];
  readonly disableParallelToolUse?: boolean;
  /** More fields of the body. None of them replaces a field that is made here. */
  readonly extraBody: JsonObject;
}

/** The API's least thinking budget. */
const minBudgetTokens = 1_024;

/** The body of POST /v1/messages. The same request and settings always make the same bytes. */
export function requestBody(request: ModelRequest, settings: RequestSettings): JsonObject {
  const parts = cachedParts(request, settings);
  const tools = [...parts.tools, ...parts.serverTools];
  return {
    ...settings.extraBody,
    model: settings.model,
    max_tokens: request.maxTokens,
    ...(parts.system.length > 0 ? { system: parts.system } : {}),
    ...(tools.length > 0 ? { tools } : {}),
    ...(tools.length > 0 ? toolChoice(request, settings) : {}),
    messages: parts.messages.map(({ role, content }) => ({ role, content })),
    ...thinkingField(request, settings.thinking),
    ...samplingFields(settings),
    ...(request.container === null ? {} : { container: request.container }),
    ...(request.streams ? { stream: true } : {}),
  };
}

function cachedParts(request: ModelRequest, settings: RequestSettings): CachedParts {
  const parts = {
    tools: request.tools.map(toWireTool),
    serverTools: settings.serverTools,
    system: isBlank(request.system) ? [] : [{ type: 'text', text: request.system }],
    messages: request.messages.map(toWireMessage),
  };
  // With an automatic mark of the caller's own, the placing is theirs.
  return isJsonObject(settings.extraBody.cache_control)
    ? parts
    : markForCache(parts, settings.caching);
}

const toWireTool = ({ name, description, inputSchema }: ToolSpec): JsonObject => ({
  name,
  description,
  input_schema: inputSchema,
});

const toWireMessage = ({ role, content }: Message): WireMessage => ({
  role,
  content: content.map(toWireBlock),
});

/** Only the API's own fields: it refuses any other. Blocks that Pawl does not read go as they came. */
function toWireBlock(block: ContentBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: block.type, text: block.text, ...optional('citations', block.citations) };
    case 'thinking':
      return { type: block.type, thinking: block.thinking, signature: block.signature };
    case 'redacted_thinking':
      return { type: block.type, data: block.data };
    case 'tool_use': {
      const { type, id, name, input, caller } = block;
      return { type, id, name, input, ...optional('caller', caller) };
    }
    case 'tool_result':
      return {
        type: block.type,
        tool_use_id: block.tool_use_id,
        content: typeof block.content === 'string' ? block.content : block.content.map(toWireBlock),
        ...optional('is_error', block.is_error),
      };
    default:
      return block;
  }
}

const optional = (name: string, value: JsonObject[string] | undefined): JsonObject =>
  value === undefined || value === null ? {} : { [name]: value };

/** `auto` is the API's default, and is left out unless it carries a wish. */
function toolChoice({ toolChoice: choice }: ModelRequest, settings: RequestSettings): JsonObject {
  const isSingle = settings.disableParallelToolUse === true;
  if (choice === 'none') return { tool_choice: { type: 'none' } };
  if (choice === 'auto' && !isSingle) return {};
  return {
    tool_choice: {
      ...(typeof choice === 'string' ? { type: choice } : { type: 'tool', name: choice.tool }),
      ...(isSingle ? { disable_parallel_tool_use: true } : {}),
    },
  };
}

/**
 * The API refuses a budget together with a forced tool, one that leaves no room for the answer, and one in the middle
 * of a turn that did not begin with thinking.
 */
function thinkingField(
  { toolChoice: choice, maxTokens, messages }: ModelRequest,
  thinking: Thinking | undefined,
): JsonObject {
  if (thinking === undefined) return {};
  if (thinking.type !== 'enabled') return { thinking: { type: thinking.type } };
  const isForced = choice === 'any' || typeof choice === 'object';
  const budget = fittingBudget(thinking.budgetTokens, maxTokens);
  return isForced || budget === null || goesOnUnthought(messages)
    ? {}
    : { thinking: { type: 'enabled', budget_tokens: budget } };
}

/** A turn of the model goes on while a user says nothing but results. Another model's thinking is left out of it. */
function goesOnUnthought(messages: readonly Message[]): boolean {
  const before = messages.findLastIndex(
    ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
  );
  const [first] = messages[before + 1]?.content ?? [];
  return first !== undefined && !isThinking(first);
}

/** Shrinks a budget that does not fit to leave room for an answer; null when too little is left to think with. */
function fittingBudget(budgetTokens: number, maxTokens: number): number | null {
  if (budgetTokens < maxTokens) return budgetTokens;
  const shrunk = maxTokens - minBudgetTokens;
  return shrunk >= minBudgetTokens ? shrunk : null;
}

function samplingFields({ temperature, topP, topK, stopSequences }: RequestSettings): JsonObject {
  return {
    ...optional('temperature', temperature),
    ...optional('top_p', topP),
    ...optional('top_k', topK),
    ...optional('stop_sequences', stopSequences),
  };
}
