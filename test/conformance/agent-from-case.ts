import { type Agent, anthropic, createAgent } from 'pawl';
import { type Engine, track } from './engine.ts';
import { keepLast } from './keep-last.ts';
import type { CaseTool } from './load-case.ts';
import { budgetOf, modelOptionsOf, retryOf, toolChoiceOf } from './mapping.ts';
import { permissionsOf, pickTools, type RunChild, toolOf } from './tools-from-case.ts';

/** An agent for the configuration and the tools of now: another process would make the same. */
export function agentFor(engine: Engine, tools: readonly CaseTool[] = engine.tools): Agent {
  const { config, mode, url, store, tell } = engine;
  const { system, toolConcurrency, secrets, limits = {} } = config;
  return createAgent({
    model: anthropic(config.model, modelOptionsOf(config, url)),
    ...(system !== undefined && { system }),
    tools: tools.map((tool) => toolOf(engine, tool, childrenOf(engine))),
    permissions: permissionsOf(engine, tools),
    budget: budgetOf(config),
    retry: retryOf(config),
    toolChoice: toolChoiceOf(config),
    streams: mode === 'sse',
    store,
    ...(toolConcurrency !== undefined && { toolConcurrency }),
    ...(limits.maxToolResultChars !== undefined && { maxOutputChars: limits.maxToolResultChars }),
    ...(secrets && { secrets }),
    ...compactionOf(engine),
    onEvent: (event) => {
      tell({ told: 'said', text: JSON.stringify(event) });
      tell({ told: 'happened', name: `event:${event.type}` });
    },
  });
}

function compactionOf({ config: { compaction } }: Engine) {
  if (!compaction) return {};
  const { triggerTokens, keepMessages } = compaction;
  return {
    compaction: {
      atTokens: triggerTokens,
      compact: async ({ messages }: { readonly messages: Parameters<typeof keepLast>[0] }) =>
        keepLast(messages, keepMessages),
    },
  };
}

const childrenOf =
  (engine: Engine): RunChild =>
  async (prompt, tools, signal) => {
    const agent = agentFor(engine, pickTools(engine.tools, tools));
    const { run } = track(engine, agent.start(prompt, { signal }), { isChild: true });
    const { error, text } = await run.result;
    if (error) throw new Error(error.message);
    return text;
  };
