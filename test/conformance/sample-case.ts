import type { Action, Behaviour, Case, CaseTool } from './load-case.ts';

/** A tool that asks nobody and says "fine". */
export const sampleTool = (
  behaviour: Behaviour = { kind: 'return', value: 'fine' },
  more: Partial<CaseTool> = {},
): CaseTool => ({
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: {} },
  sideEffect: false,
  idempotent: true,
  needsApproval: false,
  behaviour,
  ...more,
});

interface Parts {
  readonly config?: object;
  readonly server?: object;
  readonly tools?: readonly CaseTool[];
  readonly actions?: readonly object[];
  readonly expect?: object;
}

const say = (...content: readonly object[]) => ({
  message: { content, stop_reason: content.length > 1 ? 'tool_use' : 'end_turn' },
});

/** A case that Pawl meets: one call, one answer. */
export function sampleCase({ config, server, tools, actions, expect }: Parts = {}): Case {
  const start: Action = { do: 'start', prompt: 'Go.' };
  return {
    id: 'T-001-sample',
    script: {
      api: 'anthropic',
      modes: ['json', 'sse'],
      config: { model: 'claude-test-1', maxTokens: 1_024, limits: { maxTurns: 5 }, ...config },
      server: {
        responses: [
          say(
            { type: 'text', text: 'Looking.' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
          ),
          say({ type: 'text', text: 'All fine.' }),
        ],
        ...server,
      },
      tools: tools ?? [sampleTool()],
      actions: (actions as Action[]) ?? [start, { do: 'wait', for: 'settled' }],
    },
    expect: { status: 'completed', timeoutMs: 1_500, ...expect },
  };
}
