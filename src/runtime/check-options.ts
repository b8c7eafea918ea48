/** Refuses options that can't be meant, before any effect. A type can't hold a caller to it. */
import { limitsOf, namedLimits } from '../core/budget.ts';
import * as check from '../core/check.ts';
import { invalidInput } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import { defaultRetry } from '../core/retry.ts';
import type { AgentOptions, ForkOptions, ResumeOptions, StartOptions } from './agent-options.ts';

const optionNames: readonly (keyof AgentOptions)[] = [
  ...(['model', 'fallbackModels', 'name', 'system', 'tools', 'permissions', 'budget'] as const),
  ...(['onLimit', 'onTruncated', 'retry', 'toolConcurrency', 'maxOutputChars'] as const),
  ...(['toolChoice', 'streams', 'compaction', 'store', 'secrets', 'onEvent'] as const),
];
const startNames: readonly (keyof StartOptions)[] = [
  ...(['history', 'runId', 'budget', 'onLimit', 'tags', 'signal', 'inspect'] as const),
];
const forkNames: readonly (keyof ForkOptions)[] = [
  ...(['atTurn', 'runId', 'budget', 'onLimit', 'edit', 'tags', 'signal', 'inspect'] as const),
];
const limitActions = ['wrapUp', 'ask', 'stop'];

/** All options of an agent but its permissions. @throws PawlError `invalid_input` */
export function checkAgentOptions(options: AgentOptions): void {
  check.checkFields('options', options, optionNames);
  checkModel('model', options.model);
  check.checkList('fallbackModels', options.fallbackModels);
  for (const [index, model] of (options.fallbackModels ?? []).entries()) {
    checkModel(`fallbackModels[${index}]`, model);
  }
  check.checkText('name', options.name);
  check.checkText('system', options.system);
  checkTools(options.tools);
  if (options.budget !== undefined) limitsOf(options.budget);
  check.checkOneOf('onLimit', options.onLimit, limitActions);
  check.checkOneOf('onTruncated', options.onTruncated, ['stop', 'continue']);
  checkRetry(options.retry);
  check.checkMost('toolConcurrency', options.toolConcurrency, 1);
  check.checkMost('maxOutputChars', options.maxOutputChars, 1);
  checkToolChoice(options);
  check.checkBoolean('streams', options.streams);
  checkCompaction(options.compaction);
  checkStore(options.store);
  checkSecrets(options.secrets);
  check.checkFunction('onEvent', options.onEvent);
}

/** Options of one run but its history. @throws PawlError `invalid_input` */
export function checkStartOptions(options: StartOptions): void {
  check.checkFields('options', options, startNames);
  if (options.budget !== undefined) namedLimits(options.budget);
  check.checkOneOf('onLimit', options.onLimit, limitActions);
  checkTags(options.tags);
  checkWatchers(options);
}

/** @throws PawlError `invalid_input` */
export function checkResumeOptions(options: ResumeOptions): void {
  check.checkFields('options', options, ['signal', 'inspect', 'budget', 'retry']);
  if (options.budget !== undefined) namedLimits(options.budget);
  check.checkBoolean('retry', options.retry);
  checkWatchers(options);
}

/** @throws PawlError `invalid_input` */
export function checkForkOptions(options: ForkOptions): void {
  check.checkFields('options', options, forkNames);
  if (!Number.isSafeInteger(options.atTurn) || options.atTurn < 1) {
    throw invalidInput('atTurn', 'a whole number from 1 up', options.atTurn);
  }
  if (options.budget !== undefined) namedLimits(options.budget);
  check.checkOneOf('onLimit', options.onLimit, limitActions);
  if (options.edit !== undefined && typeof options.edit !== 'function') {
    throw invalidInput('edit', 'a function of the messages', options.edit);
  }
  checkTags(options.tags);
  checkWatchers(options);
}

function checkTags(tags: unknown): void {
  const isTag = (tag: unknown): boolean => typeof tag === 'string' && tag !== '';
  if (tags !== undefined && !(Array.isArray(tags) && tags.every(isTag))) {
    throw invalidInput('tags', 'a list of texts that are not empty', tags);
  }
}

function checkWatchers({ signal, inspect }: Pick<StartOptions, 'signal' | 'inspect'>): void {
  if (signal !== undefined && !hasFunctions(signal, ['addEventListener', 'throwIfAborted'])) {
    throw invalidInput('signal', 'an AbortSignal', signal);
  }
  const isObserver = typeof inspect === 'function' || typeof inspect === 'object';
  if (inspect !== undefined && (!isObserver || inspect === null)) {
    throw invalidInput('inspect', 'a function or an observer', inspect);
  }
}

const hasFunctions = (value: unknown, names: readonly string[]): boolean =>
  typeof value === 'object' &&
  value !== null &&
  names.every((name) => typeof Reflect.get(value, name) === 'function');

function checkModel(field: string, model: unknown): void {
  if (!hasFunctions(model, ['call'])) {
    throw invalidInput(field, "a model, such as anthropic('claude-sonnet-5-5')", model);
  }
  const { id, provider, price, maxOutputTokens, minOutputTokens, contextWindow } = model as {
    readonly [name: string]: unknown;
  };
  check.checkText(`${field}.id`, id ?? null);
  check.checkText(`${field}.provider`, provider ?? null);
  check.checkPrice(`${field}.price`, price ?? null);
  check.checkWhole(`${field}.maxOutputTokens`, maxOutputTokens ?? null, 1);
  check.checkWhole(`${field}.minOutputTokens`, minOutputTokens ?? null, 1);
  check.checkWhole(`${field}.contextWindow`, contextWindow ?? undefined, 1);
}

function checkTools(tools: unknown): void {
  check.checkList('tools', tools);
  const names = new Set<unknown>();
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    if (!hasFunctions(tool, ['run', 'parse']) || !isToolLike(tool)) {
      throw invalidInput(`tools[${index}]`, 'a tool made by defineTool', tool);
    }
    if (names.has(tool.name)) {
      throw invalidInput(`tools[${index}].name`, 'a name that no other tool has', tool.name);
    }
    names.add(tool.name);
  }
}

/** As far as the machine relies on it: a tool may also be made by hand. */
const isToolLike = (tool: Readonly<Record<string, unknown>>): boolean =>
  typeof tool.name === 'string' &&
  typeof tool.description === 'string' &&
  isJsonObject(tool.inputSchema) &&
  ['read', 'idempotent', 'once'].includes(String(tool.effect)) &&
  typeof tool.isRepeatable === 'boolean' &&
  ['ask', 'report'].includes(String(tool.onInterrupted)) &&
  (tool.probe === null || typeof tool.probe === 'function') &&
  isFrom(1, tool.timeoutMs) &&
  isFrom(1, tool.concurrency) &&
  isFrom(0, tool.maxRetries) &&
  isFrom(0, tool.maxCostUsd) &&
  (tool.maxCalls === null || isFrom(0, tool.maxCalls)) &&
  (tool.maxOutputChars === null || isFrom(1, tool.maxOutputChars));

const isFrom = (least: number, value: unknown): boolean =>
  typeof value === 'number' && value >= least;

function checkRetry(retry: AgentOptions['retry']): void {
  if (retry === undefined) return;
  check.checkFields('retry', retry, Object.keys(defaultRetry));
  check.checkWhole('retry.maxRetries', retry.maxRetries, 0);
  check.checkAmount('retry.baseMs', retry.baseMs);
  check.checkAmount('retry.maxMs', retry.maxMs);
  check.checkAmount('retry.maxRetryAfterMs', retry.maxRetryAfterMs);
}

function checkToolChoice({ toolChoice, tools = [] }: AgentOptions): void {
  if (typeof toolChoice !== 'object' || toolChoice === null) {
    check.checkOneOf('toolChoice', toolChoice, ['auto', 'any', 'none']);
  } else if (!tools.some(({ name }) => name === toolChoice.tool)) {
    throw invalidInput('toolChoice.tool', 'the name of one of the tools', toolChoice.tool);
  }
}

function checkCompaction(compaction: AgentOptions['compaction']): void {
  if (compaction === undefined) return;
  check.checkFields('compaction', compaction, ['atTokens', 'compact']);
  check.checkWhole('compaction.atTokens', compaction.atTokens ?? null, 1);
  check.checkFunction('compaction.compact', compaction.compact ?? null);
}

function checkStore(store: unknown): void {
  if (store === undefined || hasFunctions(store, ['save', 'load', 'close'])) return;
  throw invalidInput('store', 'a store, such as memoryStore()', store);
}

function checkSecrets(secrets: unknown): void {
  if (secrets === undefined) return;
  if (!Array.isArray(secrets)) throw invalidInput('secrets', 'a list of texts', typeof secrets);
  for (const [index, secret] of secrets.entries()) {
    // Not shown, of course: a message is the first place where a secret would leak.
    if (typeof secret !== 'string' || secret === '') {
      throw invalidInput(`secrets[${index}]`, 'a text that is not empty', typeof secret);
    }
  }
}
