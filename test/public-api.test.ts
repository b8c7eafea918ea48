import { readFile } from 'node:fs/promises';
import {
  type Agent,
  type AgentOptions,
  createAgent,
  defineTool,
  type EndStatus,
  type Run,
  type RunEvent,
  type RunResult,
  type RunSnapshot,
  type StartOptions,
  type Store,
  type Tool,
  type ToolContext,
} from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';

/** Every name that a user of the package can import. A change here is a change of the public API. */
const api = {
  pawl: {
    file: '../src/index.ts',
    values: [
      'PawlError',
      'ProviderError',
      'anthropic',
      'createAgent',
      'defineTool',
      'memoryStore',
      'remoteRun',
      'replayRun',
      'sqliteStore',
      'toolOutput',
    ],
    types: [
      'Agent',
      'AgentOptions',
      'AnthropicOptions',
      'Budget',
      'ContentBlock',
      'Delta',
      'EndStatus',
      'ErrorCode',
      'Failure',
      'ForkOptions',
      'InputOptions',
      'LimitName',
      'LimitReached',
      'Limits',
      'MemoryStoreOptions',
      'Message',
      'Model',
      'ModelCallOptions',
      'ModelReply',
      'ModelRequest',
      'OnInterrupted',
      'OnLimit',
      'PendingCall',
      'Permissions',
      'Price',
      'ProbeAnswer',
      'ProbeContext',
      'RemoteRun',
      'Replay',
      'ReplayDifference',
      'ResumeOptions',
      'RetryPolicy',
      'Rule',
      'Run',
      'RunEvent',
      'RunInput',
      'RunOutput',
      'RunQuery',
      'RunResult',
      'RunSnapshot',
      'RunSummary',
      'SaveStep',
      'SavedRun',
      'SavedTurn',
      'StartOptions',
      'StepRecord',
      'StopReason',
      'Store',
      'Tool',
      'ToolChoice',
      'ToolContext',
      'ToolEffect',
      'ToolResult',
      'ToolSpec',
      'ToolUse',
      'Usage',
    ],
  },
  'pawl/testing': {
    file: '../src/testing/index.ts',
    values: ['scriptedModel', 'startScriptedServer', 'storeContract'],
    types: [
      'Script',
      'ScriptedModel',
      'ScriptedModelOptions',
      'ScriptedReply',
      'ScriptedRequest',
      'ScriptedServer',
      'StoreCheck',
    ],
  },
  'pawl/machines': {
    file: '../machines/index.ts',
    values: ['agentLoop', 'modelCall', 'toolCall'],
    types: ['AgentLoopEmitted', 'AgentLoopEvent'],
  },
} as const;

/** The names in the `export { … }` lists of a file that has no other exports. */
async function exportedNames(file: string): Promise<readonly string[]> {
  const source = await readFile(new URL(file, import.meta.url), 'utf8');
  expect(source).not.toMatch(/export (?:\*|default|const|function|class|interface|type [A-Z])/);
  return [...source.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== ''),
  );
}

describe.each(Object.entries(api))('%s', (specifier, { file, values, types }) => {
  it('exports these values', async () => {
    expect(Object.keys(await import(specifier)).toSorted()).toEqual([...values]);
  });

  it('exports these names, types among them', async () => {
    expect((await exportedNames(file)).toSorted()).toEqual([...values, ...types].toSorted());
  });
});

describe('the types', () => {
  const base = { name: 't', description: 'A tool.', effect: 'read' } as const;

  it('of a zod schema are those of the input that run gets, after its defaults and transforms', () => {
    defineTool({
      ...base,
      input: z.object({
        to: z.string(),
        copies: z.number().default(1),
        day: z.iso.date().transform((day) => new Date(day)),
        note: z.string().optional(),
      }),
      run(input, context) {
        expectTypeOf(input).toEqualTypeOf<{
          to: string;
          copies: number;
          day: Date;
          note?: string | undefined;
        }>();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
      },
    });
  });

  it('of a JSON Schema say no more than that the input is an object', () => {
    defineTool({
      ...base,
      input: { type: 'object', properties: { to: { type: 'string' } } },
      run(input) {
        expectTypeOf(input).toBeObject();
        expectTypeOf(input.to).not.toBeAny();
      },
    });
  });

  it('refuse a tool without an effect, and an effect that there is not', () => {
    const tool = { name: 't', description: 'A tool.', input: z.object({}), run: () => '' };
    // @ts-expect-error: only the author knows what a repeat means
    expect(() => defineTool(tool)).toThrow('effect');
    // @ts-expect-error: no such effect
    expect(() => defineTool({ ...tool, effect: 'twice' })).toThrow('effect');
  });

  it('of tools with different inputs fit into one list', () => {
    const tools = [
      defineTool({ ...base, name: 'a', input: z.object({ a: z.string() }), run: ({ a }) => a }),
      defineTool({ ...base, name: 'b', input: z.object({ b: z.number() }), run: ({ b }) => b }),
    ];
    expectTypeOf(tools).toEqualTypeOf<Tool[]>();
  });

  it('of events are told apart by their type', () => {
    const textOf = (event: RunEvent): string => {
      if (event.type === 'text.delta') return event.text;
      if (event.type === 'tool.settled') return String(event.result.content);
      // @ts-expect-error: this event has no text
      return event.text ?? '';
    };
    expect(textOf({ type: 'run.started', runId: 'r', isResumed: false })).toBe('');
  });

  it('of a result know every status', () => {
    expectTypeOf<RunResult['status']>().toEqualTypeOf<EndStatus | 'suspended'>();
    expectTypeOf<EndStatus>().toEqualTypeOf<
      'completed' | 'exhausted' | 'refused' | 'failed' | 'cancelled'
    >();
    expectTypeOf<Run['result']>().resolves.toEqualTypeOf<RunResult>();
  });

  // This file imports nothing of XState: all of it is typed by Pawl's own names.
  it('of an agent, a run, its options and its snapshot are all the package’s own', async () => {
    const options: AgentOptions = { model: scriptedModel(['Ok.']), name: 'typed' };
    const agent: Agent = createAgent(options);
    const kinds: string[] = [];
    const start: StartOptions = { runId: 'r', inspect: ({ type }) => void kinds.push(type) };
    const run: Run = agent.start('Go.', start);
    const result: RunResult = await run.result;
    const snapshot: RunSnapshot = run.snapshot();
    expect([result.status, snapshot.status]).toEqual(['completed', 'done']);
    expect(kinds).toContain('@xstate.snapshot');
    expectTypeOf<Parameters<Agent['resume']>[0]>().toEqualTypeOf<string | RunSnapshot>();
    expectTypeOf<NonNullable<AgentOptions['store']>>().toEqualTypeOf<Store>();
  });
});
