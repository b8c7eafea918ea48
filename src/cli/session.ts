/** Puts an agent together from the command line's options. */
import type { Budget } from '../core/budget.ts';
import type { OnLimit } from '../core/run-context.ts';
import { anthropic } from '../providers/anthropic.ts';
import type { Model } from '../providers/provider.ts';
import { type Agent, createAgent } from '../runtime/agent.ts';
import type { AgentOptions } from '../runtime/agent-options.ts';
import { startScriptedServer } from '../testing/scripted-server.ts';
import type { Tool } from '../tools/tool.ts';
import { demoScript, demoTools } from './demo.ts';
import { loadTools } from './tools-file.ts';

/** Options of `pawl run` and `pawl chat`. */
export interface RunOptions {
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
  readonly tools: readonly Tool[];
  /** Where requests go, when that is not the provider's public address. */
  readonly baseUrl: string | null;
  /** No model is asked: a script is played, with the demo's question and tools. */
  readonly isScripted: boolean;
  /** The tools are the demo's own, so that its question makes sense. */
  readonly hasDemoTools: boolean;
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface OpenModel {
  readonly model: Model;
  readonly baseUrl: string | null;
  readonly secrets: readonly string[];
  close(): Promise<void>;
}

/** @throws PawlError `invalid_input` for options and tools that can't be used */
export async function openSession(
  options: RunOptions,
  { env, folder }: { readonly env: Environment; readonly folder: string },
): Promise<Session> {
  // Also without a key, so that a wrong file is an error either way.
  const named = options.tools === undefined ? null : await loadTools(options.tools, folder);
  const apiKey = env.ANTHROPIC_API_KEY?.trim() ?? '';
  const isScripted = apiKey === '';
  const tools = isScripted ? demoTools() : (named ?? demoTools());
  const opened = isScripted
    ? await openScripted(options.model)
    : openReal(options.model, apiKey, env.ANTHROPIC_BASE_URL?.trim() || null);
  const { model, secrets, baseUrl, close } = opened;
  try {
    const agent = createAgent({ ...agentOptions(options), model, tools, secrets });
    return { agent, tools, baseUrl, isScripted, hasDemoTools: isScripted || named === null, close };
  } catch (error) {
    await close();
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
    name: 'pawl',
    streams: stream,
    budget: budgetOf(options),
    ...(system !== undefined && { system }),
    ...(onLimit !== undefined && { onLimit }),
    ...(yes && { permissions: { otherwise: 'allow' } }),
    ...(ask && { permissions: { otherwise: 'ask' } }),
  };
}

const budgetOf = ({ maxTurns, maxCost, maxTokens, maxTime }: RunOptions): Budget => ({
  ...(maxTurns !== undefined && { maxTurns }),
  ...(maxCost !== undefined && { maxCostUsd: maxCost }),
  ...(maxTokens !== undefined && { maxTotalTokens: maxTokens }),
  ...(maxTime !== undefined && { maxActiveMs: maxTime }),
});
