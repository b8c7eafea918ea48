import * as check from '../core/check.ts';
import { invalidInput } from '../core/errors.ts';
import { isJsonObject, type JsonObject, jsonProblem } from '../core/json.ts';
import type { Price } from '../core/price.ts';
import type { Caching } from './anthropic-cache.ts';
import type { Thinking } from './anthropic-request.ts';

export interface AnthropicOptions {
  /** Default: the environment's ANTHROPIC_API_KEY at the first call. */
  readonly apiKey?: string | undefined;
  /** Default: the environment's ANTHROPIC_BASE_URL at the first call, else the public API. */
  readonly baseURL?: string | undefined;
  /** Most output tokens of one reply. Default: 16,000. */
  readonly maxTokens?: number;
  /** Least output tokens that a request makes sense with. Default: 256 beyond the thinking budget. */
  readonly minTokens?: number;
  /** Tokens of input and output together. Default: what is known of the model; null when it is not known. */
  readonly contextWindow?: number | null;
  /** Default: what is known of the model; null when it is not known. */
  readonly price?: Price | null;
  /**
   * Default: not sent. A budget that a request leaves no room for is shrunk, or left out below the API's least of
   * 1,024; so it is with a forced tool, which the API refuses together with a budget.
   */
  readonly thinking?: Thinking;
  /** Sent only when given: newer models refuse it. So it is with `topP` and `topK`. */
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopSequences?: readonly string[];
  /** Definitions of the API's own tools, sent after the agent's as they are. */
  readonly serverTools?: readonly JsonObject[];
  /** Names of beta features, for the `anthropic-beta` header. */
  readonly betas?: readonly string[];
  /** More headers of each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** More fields of each request's body. They replace none of those made here. */
  readonly extraBody?: JsonObject;
  /** Longest time in which nothing of a stream arrives, its headers included, in ms. Default: 60,000. */
  readonly streamIdleMs?: number;
  /** Longest time of a whole request, in ms. Default: 600,000. */
  readonly timeoutMs?: number;
  /** Lifetime of what the prompt cache keeps. Default: `5m`. */
  readonly caching?: Caching;
  /** At most one tool use in a reply. Default: false. */
  readonly disableParallelToolUse?: boolean;
}

/** Timers of a longer time fire at once. */
const longestTimerMs = 2 ** 31 - 1;
/** Deeper values overflow the stack where they are written as JSON. */
const maxBodyDepth = 500;

/** @throws PawlError `invalid_input` for the first option that can't be used. */
export function checkOptions(modelId: string, options: AnthropicOptions): void {
  if (typeof modelId !== 'string' || modelId.trim() === '') {
    throw invalidInput('modelId', 'the name of a model', modelId);
  }
  check.checkFields('options', options, optionNames);
  checkShapes(options);
  checkNumbers(options);
  const { thinking, minTokens, caching = '5m' } = options;
  const budget = thinking?.type === 'enabled' ? thinking.budgetTokens : null;
  if (budget !== null && !(Number.isSafeInteger(budget) && budget >= 1_024)) {
    throw invalidInput('thinking.budgetTokens', 'a whole number of at least 1,024', budget);
  }
  if (budget !== null && minTokens !== undefined && minTokens <= budget) {
    throw invalidInput('minTokens', `more than the thinking budget of ${budget}`, minTokens);
  }
  if (caching !== '5m' && caching !== '1h' && caching !== false) {
    throw invalidInput('caching', "'5m', '1h' or false", caching);
  }
}

const optionNames: readonly (keyof AnthropicOptions)[] = [
  ...(['apiKey', 'baseURL', 'maxTokens', 'minTokens', 'contextWindow', 'price'] as const),
  ...(['thinking', 'temperature', 'topP', 'topK', 'stopSequences', 'serverTools'] as const),
  ...(['betas', 'headers', 'extraBody', 'streamIdleMs', 'timeoutMs', 'caching'] as const),
  'disableParallelToolUse',
];

function checkShapes(options: AnthropicOptions): void {
  const { apiKey, baseURL, thinking, serverTools, headers, extraBody } = options;
  // Not shown: a message is the first place where a key would leak.
  check.checkText(
    'apiKey',
    apiKey === undefined ? undefined : typeof apiKey === 'string' ? '' : null,
  );
  check.checkText('baseURL', baseURL);
  check.checkPrice('price', options.price);
  if (thinking !== undefined) {
    check.checkFields('thinking', thinking, ['type', 'budgetTokens']);
    check.checkOneOf('thinking.type', thinking.type ?? null, ['adaptive', 'enabled', 'disabled']);
  }
  check.checkTexts('stopSequences', options.stopSequences);
  check.checkTexts('betas', options.betas);
  check.checkList('serverTools', serverTools);
  for (const [index, tool] of (serverTools ?? []).entries()) {
    checkJsonObject(`serverTools[${index}]`, tool);
  }
  if (headers !== undefined) checkHeaders(headers);
  if (extraBody !== undefined) checkJsonObject('extraBody', extraBody);
  check.checkBoolean('disableParallelToolUse', options.disableParallelToolUse);
}

function checkJsonObject(field: string, value: unknown): void {
  if (!isJsonObject(value)) throw invalidInput(field, 'a JSON object', value);
  const problem = jsonProblem(value, maxBodyDepth);
  if (problem) throw invalidInput(field, problem, value);
}

function checkHeaders(headers: object): void {
  if (!isJsonObject(headers)) throw invalidInput('headers', 'an object of texts', headers);
  for (const [name, value] of Object.entries(headers)) check.checkText(`headers.${name}`, value);
}

function checkNumbers(options: AnthropicOptions): void {
  const { maxTokens, minTokens, contextWindow, streamIdleMs, timeoutMs } = options;
  const most = Number.MAX_SAFE_INTEGER;
  checkNumber('maxTokens', maxTokens, most);
  checkNumber('minTokens', minTokens, maxTokens ?? most);
  checkNumber('contextWindow', contextWindow ?? undefined, most);
  checkNumber('streamIdleMs', streamIdleMs, longestTimerMs);
  checkNumber('timeoutMs', timeoutMs, longestTimerMs);
  checkNumber('topK', options.topK, most);
  check.checkAmount('temperature', options.temperature);
  check.checkAmount('topP', options.topP, 1);
}

function checkNumber(name: string, value: number | undefined, most: number): void {
  if (value === undefined) return;
  if (!Number.isSafeInteger(value) || value < 1 || value > most) {
    throw invalidInput(name, `a whole number from 1 to ${most}`, value);
  }
}
