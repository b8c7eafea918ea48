import type { InspectionEvent, Observer } from 'xstate';
import { type Budget, limitsOf } from '../core/budget.ts';
import { invalidInput } from '../core/errors.ts';
import type { ContentBlock, Message } from '../core/message.ts';
import { nearNames } from '../core/near-names.ts';
import type { RetryPolicy } from '../core/retry.ts';
import type { OnLimit } from '../core/run-context.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Model, ToolChoice } from '../providers/provider.ts';
import type { Store } from '../stores/store.ts';
import type { Permissions } from '../tools/permissions.ts';
import type { Tool } from '../tools/tool.ts';
import type { Compact } from './agent-parts.ts';

export interface AgentOptions {
  /** The first choice. */
  readonly model: Model;
  /** Asked in this order when a model stays unavailable. */
  readonly fallbackModels?: readonly Model[];
  readonly name?: string;
  readonly system?: string;
  readonly tools?: readonly Tool[];
  /** Default: tools that only read are allowed, all others are asked for. */
  readonly permissions?: Permissions;
  /** Default: 50 turns, 3 repeats, 3 malformed replies; no limit on tokens, cost and time. */
  readonly budget?: Budget;
  /** At a limit: `stop` (default), `wrapUp` for one last answer without tools, `ask` to wait for a raised budget. */
  readonly onLimit?: OnLimit;
  /** A text cut at the output limit ends the run (`stop`, default), or is continued up to five times. */
  readonly onTruncated?: 'stop' | 'continue';
  readonly retry?: Partial<RetryPolicy>;
  /** Most tool calls at once in one run. Default 8. */
  readonly toolConcurrency?: number;
  /** Most characters of a tool result; a longer one keeps its head and its tail. Default 50,000. */
  readonly maxOutputChars?: number;
  /** For the first model call of a run. Default `auto`. */
  readonly toolChoice?: ToolChoice;
  /** Stream replies, so that deltas arrive as the model writes. Default true. */
  readonly streams?: boolean;
  /** How to say a transcript in fewer tokens, and when. Default: never. */
  readonly compaction?: { readonly atTokens: number; readonly compact: Compact };
  /** Default: memory, without the runs that have ended. */
  readonly store?: Store;
  /** Texts that must not appear in events and error texts: keys, passwords. The model and the tools still see them. */
  readonly secrets?: readonly string[];
  /** Sees the events of all runs, also of those that plain `createActor` started. */
  readonly onEvent?: (event: RunEvent) => void;
}

export interface InputOptions {
  /** Earlier messages, as `result.messages` gives them. */
  readonly history?: readonly Message[];
  /** Default: a new unique id. */
  readonly runId?: string;
  /** Replaces the agent's limits of the same name. */
  readonly budget?: Budget;
  readonly onLimit?: OnLimit;
}

export interface StartOptions extends InputOptions {
  /** Cancels the run when it fires. */
  readonly signal?: AbortSignal;
  /** As for XState's `createActor`: sees every actor of the run. */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void);
}

export type Prompt = string | readonly ContentBlock[];

const optionNames: readonly (keyof AgentOptions)[] = [
  'model',
  'fallbackModels',
  'name',
  'system',
  'tools',
  'permissions',
  'budget',
  'onLimit',
  'onTruncated',
  'retry',
  'toolConcurrency',
  'maxOutputChars',
  'toolChoice',
  'streams',
  'compaction',
  'store',
  'secrets',
  'onEvent',
];

/** @throws PawlError `invalid_input` */
export function checkAgentOptions(options: AgentOptions): void {
  for (const name of Object.keys(options)) checkOptionName(name);
  for (const [index, model] of [options.model, ...(options.fallbackModels ?? [])].entries()) {
    checkModel(index === 0 ? 'model' : `fallbackModels[${index - 1}]`, model);
  }
  checkTools(options.tools ?? []);
  limitsOf(options.budget ?? {});
  checkOneOf('onLimit', options.onLimit, ['wrapUp', 'ask', 'stop']);
  checkOneOf('onTruncated', options.onTruncated, ['stop', 'continue']);
  for (const [name, value] of Object.entries(options.retry ?? {}))
    checkCount(`retry.${name}`, value, 0);
  checkCount('toolConcurrency', options.toolConcurrency, 1);
  checkCount('maxOutputChars', options.maxOutputChars, 1);
  checkCount('compaction.atTokens', options.compaction?.atTokens, 1);
  checkSecrets(options.secrets ?? []);
  checkToolChoice(options);
}

function checkOptionName(name: string): void {
  if ((optionNames as readonly string[]).includes(name)) return;
  const [near] = nearNames(name, optionNames);
  throw invalidInput(name, near ? `no such option; did you mean ${near}?` : 'a known option', name);
}

function checkModel(field: string, model: unknown): void {
  const { id, call, maxOutputTokens, minOutputTokens } = (model ?? {}) as Partial<Model>;
  if (typeof call !== 'function' || typeof id !== 'string') {
    throw invalidInput(field, "a model, such as anthropic('claude-sonnet-5-5')", model);
  }
  checkCount(`${field}.maxOutputTokens`, maxOutputTokens ?? Number.NaN, 1);
  checkCount(`${field}.minOutputTokens`, minOutputTokens ?? Number.NaN, 1);
}

function checkTools(tools: readonly Tool[]): void {
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (typeof tool?.run !== 'function' || typeof tool.parse !== 'function') {
      throw invalidInput(`tools[${index}]`, 'a tool made by defineTool', tool);
    }
    if (names.has(tool.name)) {
      throw invalidInput(`tools[${index}].name`, 'a name that no other tool has', tool.name);
    }
    names.add(tool.name);
  }
}

function checkSecrets(secrets: readonly unknown[]): void {
  for (const [index, secret] of secrets.entries()) {
    // Not shown, of course: a message is the first place where a secret would leak.
    if (typeof secret !== 'string' || secret === '') {
      throw invalidInput(`secrets[${index}]`, 'a text that is not empty', typeof secret);
    }
  }
}

function checkToolChoice({ toolChoice, tools = [] }: AgentOptions): void {
  if (typeof toolChoice !== 'object') {
    checkOneOf('toolChoice', toolChoice, ['auto', 'any', 'none']);
  } else if (!tools.some(({ name }) => name === toolChoice.tool)) {
    throw invalidInput('toolChoice.tool', 'the name of one of the tools', toolChoice.tool);
  }
}

export function checkOneOf(field: string, value: unknown, known: readonly string[]): void {
  if (value !== undefined && !known.includes(value as string)) {
    throw invalidInput(field, `one of ${known.join(', ')}`, value);
  }
}

function checkCount(field: string, value: unknown, least: number): void {
  if (value === undefined) return;
  if (typeof value !== 'number' || Number.isNaN(value) || value < least) {
    throw invalidInput(field, `a number from ${least} up`, value);
  }
}
