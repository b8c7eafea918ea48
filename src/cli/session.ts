/** Puts an agent together from the command line's options. */
import type { Budget } from '../core/budget.ts';
import { PawlError } from '../core/errors.ts';
import type { OnLimit, RunSettings } from '../core/run-context.ts';
import { anthropic } from '../providers/anthropic.ts';
import type { Model } from '../providers/provider.ts';
import { type Agent, createAgent } from '../runtime/agent.ts';
import type { AgentOptions } from '../runtime/agent-options.ts';
import type { Store } from '../stores/store.ts';
import { startScriptedServer } from '../testing/scripted-server.ts';
import type { Tool } from '../tools/tool.ts';
import { demoAgent, demoScript, demoTools } from './demo.ts';
import { openKnownStore, openOwnStore } from './store-file.ts';
import { loadTools } from './tools-file.ts';

/** Options of `pawl run` and `pawl chat`. */
export interface RunOptions {
  readonly store: string;
  readonly tag?: readonly string[];
  readonly tools?: string;
  readonly model: string;
  readonly system?: string;
  readonly maxTurns?: number;
  /** US dollars. */
  readonly maxCost?: number;
  readonly maxTokens?: number;
  /** Milliseconds. */
  readonly maxTime?: number;
  readonly onLimit?: OnLimit;
  readonly yes?: true;
  readonly ask?: true;
  readonly json?: true;
  readonly stream: boolean;
}

export interface Session {
  readonly agent: Agent;
  readonly store: Store;
  readonly tools: readonly Tool[];
  /** Where requests go, when that is not the provider's public address. */
  readonly baseUrl: string | null;
  /** No model is asked: a script is played, with the demo's question and tools. */
  readonly isScripted: boolean;
  /** The tools are the demo's own, so that its question makes sense. */
  readonly hasDemoTools: boolean;
  /** Runs outlive the process. False: there is no SQLite here, and nobody named a file. */
  readonly isKept: boolean;
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface OpenModel {
  readonly model: Model;
  readonly baseUrl: string | null;
  readonly secrets: readonly string[];
  close(): Promise<void>;
}

export interface Place {
  readonly env: Environment;
  readonly folder: string;
}

/** @throws PawlError `invalid_input` for options and tools that can't be used, `store_failed` */
export async function openSession(options: RunOptions, place: Place): Promise<Session> {
  const apiKey = keyIn(place.env);
  // Also without a key, so that a wrong file is an error either way.
  const named = await namedTools(options, place);
  const { store, isKept } = await openOwnStore({ file: options.store, folder: place.folder });
  return { ...(await put(options, place, named, store, apiKey === '')), isKept };
}

/**
 * For a run that the store has, or a branch of it: with its model, unless another one is named, and with the script, when
 * it is one of the demo. @throws PawlError like `openSession`; `invalid_input` when there is no key for a real run
 */
export async function openSessionFor(
  options: Omit<RunOptions, 'model'> & { readonly model?: string },
  place: Place,
  find: (store: Store) => Promise<RunSettings>,
): Promise<{ readonly session: Session; readonly options: RunOptions }> {
  const named = await namedTools(options, place);
  const store = await openKnownStore({ file: options.store, folder: place.folder });
  try {
    const settings = await find(store);
    const isScripted = settings.agent === demoAgent;
    if (!isScripted && keyIn(place.env) === '') throw keyIsMissing(settings);
    const whole = { ...options, model: options.model ?? settings.models[0].id };
    return { session: await put(whole, place, named, store, isScripted), options: whole };
  } catch (error) {
    await store.close().catch(() => {});
    throw error;
  }
}

const keyIsMissing = ({ models: [{ id }] }: RunSettings): PawlError =>
  new PawlError(
    'invalid_input',
    `ANTHROPIC_API_KEY is not set, and this run was begun with ${id}: only runs of the demo go on without a key.`,
  );

const keyIn = (env: Environment): string => env.ANTHROPIC_API_KEY?.trim() ?? '';

const namedTools = async ({ tools }: Pick<RunOptions, 'tools'>, { folder }: Place) =>
  tools === undefined ? null : loadTools(tools, folder);

/** Closes the store when it can't be done. */
async function put(
  options: RunOptions,
  { env }: Place,
  named: readonly Tool[] | null,
  store: Store,
  isScripted: boolean,
): Promise<Session> {
  const tools = isScripted ? demoTools() : (named ?? demoTools());
  const opened = isScripted
    ? await openScripted(options.model)
    : openReal(options.model, keyIn(env), env.ANTHROPIC_BASE_URL?.trim() || null);
  const { model, secrets, baseUrl } = opened;
  const close = async (): Promise<void> => {
    await opened.close();
    await store.close();
  };
  try {
    const name = isScripted ? demoAgent : 'pawl';
    const agent = createAgent({ ...agentOptions(options), name, model, tools, secrets, store });
    const hasDemoTools = isScripted || named === null;
    return { agent, store, tools, baseUrl, isScripted, hasDemoTools, isKept: true, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

async function openScripted(modelId: string): Promise<OpenModel> {
  const server = await startScriptedServer(demoScript);
  const model = anthropic(modelId, { apiKey: 'scripted', baseURL: server.url });
  return { model, secrets: [], baseUrl: server.url, close: () => server.close() };
}

/** Shorter ones are no secrets, and hiding them would make holes in ordinary text. */
const minSecretChars = 8;

const openReal = (modelId: string, apiKey: string, baseUrl: string | null): OpenModel => ({
  model: anthropic(modelId, { apiKey, ...(baseUrl !== null && { baseURL: baseUrl }) }),
  secrets: apiKey.length >= minSecretChars ? [apiKey] : [],
  baseUrl,
  close: async () => {},
});

function agentOptions(options: RunOptions): Omit<AgentOptions, 'model'> {
  const { system, onLimit, yes, ask, stream } = options;
  return {
    streams: stream,
    budget: budgetOf(options),
    ...(system !== undefined && { system }),
    ...(onLimit !== undefined && { onLimit }),
    ...(yes && { permissions: { otherwise: 'allow' } }),
    ...(ask && { permissions: { otherwise: 'ask' } }),
  };
}

export const budgetOf = ({
  maxTurns,
  maxCost,
  maxTokens,
  maxTime,
}: Pick<RunOptions, 'maxTurns' | 'maxCost' | 'maxTokens' | 'maxTime'>): Budget => ({
  ...(maxTurns !== undefined && { maxTurns }),
  ...(maxCost !== undefined && { maxCostUsd: maxCost }),
  ...(maxTokens !== undefined && { maxTotalTokens: maxTokens }),
  ...(maxTime !== undefined && { maxActiveMs: maxTime }),
});
