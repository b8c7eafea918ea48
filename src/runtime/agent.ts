import { randomUUID } from 'node:crypto';
import { limitsOf } from '../core/budget.ts';
import { copyJson } from '../core/copy-json.ts';
import { PawlError } from '../core/errors.ts';
import { toolFrameTokens } from '../core/gone-tools.ts';
import { repairHistory } from '../core/history.ts';
import { microsOfUsd } from '../core/price.ts';
import { redactor } from '../core/redact.ts';
import { defaultRetry } from '../core/retry.ts';
import type { ModelSettings, RunInput, RunSettings } from '../core/run-context.ts';
import type { ToolPolicy } from '../core/tool-call.ts';
import { utf8Length } from '../core/utf8.ts';
import type { Model } from '../providers/provider.ts';
import { memoryStore } from '../stores/memory.ts';
import type { RunSnapshot } from '../stores/store.ts';
import { checkPermissions } from '../tools/permissions.ts';
import type { Tool } from '../tools/tool.ts';
import { type AgentMachine, agentMachine } from './agent-machine.ts';
import type { AgentOptions, InputOptions, Prompt, StartOptions } from './agent-options.ts';
import type { AgentParts } from './agent-parts.ts';
import { checkAgentOptions, checkResumeOptions, checkStartOptions } from './check-options.ts';
import { checkSnapshot } from './check-snapshot.ts';
import { checkHistory, checkPrompt, checkRunId } from './checks.ts';
import { groupCommit } from './commits.ts';
import { openRun } from './open-run.ts';
import type { Run } from './run.ts';
import { checkPriced } from './run-checks.ts';

/** A configuration: model, instructions, tools, limits. Has no state of its own; `start` gives a run. */
export interface Agent {
  /**
   * The XState machine with its effects: `createActor(agent.machine, { input: agent.input('…') })`, or
   * `invoke: { src: agent.machine }` in a machine of yours.
   */
  readonly machine: AgentMachine;
  /** The machine's input for this prompt. @throws PawlError `invalid_input` */
  input(prompt: Prompt, options?: InputOptions): RunInput;
  /** Starts a run. @throws PawlError `invalid_input`, `run_exists`, before anything has happened */
  start(prompt: Prompt, options?: StartOptions): Run;
  /**
   * Goes on with a run: one that the store knows, or one from `run.snapshot()`.
   * @throws PawlError `unknown_run`, `run_exists` (it runs in this process), `snapshot_incompatible`
   */
  resume(
    run: string | RunSnapshot,
    options?: Pick<StartOptions, 'signal' | 'inspect'>,
  ): Promise<Run>;
}

/** @throws PawlError `invalid_input`: which field, what was expected, what was got */
export function createAgent(options: AgentOptions): Agent {
  checkAgentOptions(options);
  const parts = partsOf(options);
  const machine = agentMachine(parts);
  const store = options.store ?? memoryStore({ keepsEnded: false });
  const commits = groupCommit(store);
  const { toolConcurrency } = parts;
  const live = new Set<string>();

  const input = (prompt: Prompt, inputOptions: InputOptions = {}): RunInput =>
    inputOf(options, parts, prompt, inputOptions);
  const open = (
    source: Parameters<typeof openRun>[0]['source'],
    runId: string,
    { signal, inspect }: Pick<StartOptions, 'signal' | 'inspect'>,
  ): Run => {
    if (live.has(runId)) throw alreadyRuns(runId);
    live.add(runId);
    try {
      const onClosed = (): void => void live.delete(runId);
      return openRun({
        parts,
        machine,
        commits,
        toolConcurrency,
        source,
        signal,
        inspect,
        onClosed,
      });
    } catch (error) {
      live.delete(runId);
      throw error;
    }
  };

  return {
    machine,
    input,
    start(prompt, startOptions = {}) {
      const runInput = input(prompt, startOptions);
      return open({ input: runInput }, runInput.settings.runId, startOptions);
    },
    async resume(run, resumeOptions = {}) {
      checkResumeOptions(resumeOptions);
      const saved = typeof run === 'string' ? await store.load(run) : null;
      if (typeof run === 'string' && !saved) throw unknownRun(run);
      const { snapshot, runId } = checkSnapshot(saved?.snapshot ?? run);
      const saveVersion = (saved ?? (await store.load(runId)))?.saveVersion ?? 0;
      return open({ snapshot, saveVersion }, runId, resumeOptions);
    },
  };
}

function partsOf(options: AgentOptions): AgentParts {
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

function inputOf(
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
  const models = parts.models.map(modelSettings);
  checkPriced(limits, models, budget?.maxCostUsd ?? options.budget?.maxCostUsd);
  const settings: RunSettings = {
    runId: runId === undefined ? `run_${randomUUID()}` : checkRunId(runId),
    agent: options.name ?? null,
    models: models as unknown as RunSettings['models'],
    tools: (options.tools ?? []).map(toolPolicy),
    prefixTokens: prefixTokens(parts),
    onLimit: onLimit ?? options.onLimit ?? 'stop',
    onTruncated: options.onTruncated ?? 'stop',
    retry: { ...defaultRetry, ...options.retry },
    compactAtTokens: options.compaction?.atTokens ?? null,
  };
  // Repaired here already: what repair adds to a request would be missing in the bound on its tokens.
  const messages = repairHistory([...copyJson(history), { role: 'user', content }]);
  return { settings, limits, messages };
}

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
});

/** What an API adds to every request by itself, at most. */
const frameTokens = 64;

const prefixTokens = ({ system, toolSpecs }: AgentParts): number =>
  frameTokens +
  utf8Length(system) +
  (toolSpecs.length > 0 ? toolFrameTokens + utf8Length(JSON.stringify(toolSpecs)) : 0);

const alreadyRuns = (runId: string): PawlError =>
  new PawlError(
    'run_exists',
    `Run "${runId}" is running in this process already. Use the run you have, or another id.`,
  );

const unknownRun = (runId: string): PawlError =>
  new PawlError('unknown_run', `The store knows no run "${runId}".`);
