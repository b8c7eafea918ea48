import { type Agent, anthropic, createAgent } from 'pawl';
import { keepLast } from './keep-last.ts';
import type { CaseTool } from './load-case.ts';
import { budgetOf, modelOptionsOf, retryOf, toolChoiceOf } from './mapping.ts';
import { type Stage, track } from './stage.ts';
import { permissionsOf, pickTools, type RunChild, toolOf } from './tools-from-case.ts';

/** An agent for the configuration and the tools of now: another process would make the same. */
export function agentFor(stage: Stage, tools: readonly CaseTool[] = stage.tools): Agent {
  const { config, mode, server, store } = stage;
  const { system, toolConcurrency, secrets, limits = {} } = config;
  return createAgent({
    model: anthropic(config.model, modelOptionsOf(config, server.url)),
    ...(system !== undefined && { system }),
    tools: tools.map((tool) => toolOf(stage, tool, childrenOf(stage))),
    permissions: permissionsOf(stage, tools),
    budget: budgetOf(config),
    retry: retryOf(config),
    toolChoice: toolChoiceOf(config),
    streams: mode === 'sse',
    store,
    ...(toolConcurrency !== undefined && { toolConcurrency }),
    ...(limits.maxToolResultChars !== undefined && { maxOutputChars: limits.maxToolResultChars }),
    ...(secrets && { secrets }),
    ...compactionOf(stage),
    onEvent: (event) => {
      stage.said.push(JSON.stringify(event));
      stage.happenings.note(`event:${event.type}`);
    },
  });
}

function compactionOf({ config: { compaction } }: Stage) {
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
  (stage: Stage): RunChild =>
  async (prompt, tools, signal) => {
    const agent = agentFor(stage, pickTools(stage.tools, tools));
    const { run } = track(stage, agent.start(prompt, { signal }), { isChild: true });
    const { error, text } = await run.result;
    if (error) throw new Error(error.message);
    return text;
  };
