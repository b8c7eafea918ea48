/** What a model or a tool says may look like XState's own data. It goes through a save and a restore unchanged. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { assign, createActor, fromPromise, type Snapshot, setup, waitFor } from 'xstate';
import type { Json } from '../../src/core/json.ts';
import type { RunContext } from '../../src/core/run-context.ts';
import { type Agent, createAgent } from '../../src/runtime/agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

/** Parsed, so that `__proto__` is a key of its own. */
const hostile: { readonly [name: string]: Json } = JSON.parse(`{
  "a reference to a child": {"xstate$$type": 1, "id": "modelCall"},
  "a reference to a call": {"xstate$$type": 1, "id": "tool.call_1"},
  "an actor": {"sessionId": "x:0", "send": "send", "ref": {"id": "self"}},
  "deep inside": [{"a": [{"xstate$$type": 1, "id": "compact", "sessionId": 1, "send": 1, "ref": 1}]}],
  "own keys of prototypes": {"__proto__": {"isAdmin": true}, "constructor": {"prototype": 1}},
  "lone surrogates": ["\\ud800", "\\udfff and \\ud83d"]
}`);

const asText = JSON.stringify(hostile);

/** The model sends it as text, as arguments and in an unknown block; the tool returns it. */
function createHostileAgent(): Agent {
  return createAgent({
    model: scriptedModel(({ body }) =>
      body.messages.length > 1
        ? asText
        : {
            content: [
              { type: 'text', text: asText },
              { type: 'web_search_tool_result', tool_use_id: 'call_0', content: hostile },
              { type: 'tool_use', id: 'call_1', name: 'echo', input: hostile },
              { type: 'tool_use', id: 'call_2', name: 'wait', input: hostile },
            ],
            stopReason: 'tool_use',
          },
    ),
    tools: (['echo', 'wait'] as const).map((name) =>
      defineTool({
        name,
        description: `Does ${name}.`,
        input: { type: 'object' },
        effect: 'read',
        run: (input) => input,
      }),
    ),
    permissions: { ask: ['wait'] },
  });
}

type Persisted = Snapshot<unknown> & { readonly context: RunContext };

const throughJson = (snapshot: unknown): Persisted => JSON.parse(JSON.stringify(snapshot));

const isWaiting = ({ context }: { readonly context: RunContext }): boolean =>
  context.calls.length === 2 &&
  context.calls.every(({ id, waits, result }) => (id === 'call_2' ? waits : result) !== null);

const denial = { type: 'approval.denied', callId: 'call_2' } as const;

describe('hostile content', () => {
  it('is the same after a save and a restore, and the run goes on with it', async () => {
    const agent = createHostileAgent();
    const first = createActor(agent.machine, { input: agent.input('Go.') });
    first.start();
    await waitFor(first, isWaiting);
    const live = first.getSnapshot().context;
    const saved = throughJson(first.getPersistedSnapshot());
    expect(JSON.stringify(saved.context)).toBe(JSON.stringify(live));
    expect(JSON.stringify(live.messages[1]?.content[1])).toContain(asText);
    expect(JSON.stringify(live.messages[1]?.content[2])).toContain(asText);
    first.stop();

    const second = createActor(agent.machine, { input: undefined as never, snapshot: saved });
    expect(JSON.stringify(second.getSnapshot().context)).toBe(JSON.stringify(live));
    second.start();
    second.send(denial);
    await waitFor(second, ({ status }) => status === 'done');
    const { context, output } = second.getSnapshot();
    expect(output).toMatchObject({ status: 'completed', text: asText });
    expect(JSON.stringify(context.messages.slice(0, 2))).toBe(
      JSON.stringify(live.messages.slice(0, 2)),
    );
    expect(Object.hasOwn({}, 'isAdmin')).toBe(false);
  });

  it('is the same in every snapshot on the way', async () => {
    const agent = createHostileAgent();
    let run: ReturnType<typeof createActor<typeof agent.machine>> | undefined;
    const different: unknown[] = [];
    let looked = 0;
    const look = (): void => {
      if (!run) return;
      const { context } = throughJson(run.getPersistedSnapshot());
      if (JSON.stringify(context) !== JSON.stringify(run.getSnapshot().context)) {
        different.push(context);
      }
      looked += 1;
    };
    run = createActor(agent.machine, { input: agent.input('Go.'), inspect: look });
    run.start();
    await waitFor(run, isWaiting);
    expect(different).toEqual([]);
    expect(looked).toBeGreaterThan(20);
    run.stop();
  });

  it('is the same inside a machine of somebody else', async () => {
    const agent = createHostileAgent();
    const host = setup({
      types: { context: {} as { readonly answer: string } },
      actors: { agent: agent.machine },
    }).createMachine({
      context: { answer: '' },
      initial: 'working',
      states: {
        working: {
          invoke: {
            id: 'agent',
            src: 'agent',
            input: agent.input('Go.'),
            onDone: {
              target: 'done',
              actions: assign({ answer: ({ event }) => event.output.text }),
            },
          },
        },
        done: { type: 'final' },
      },
    });
    const first = createActor(host).start();
    const inner = first.getSnapshot().children.agent;
    if (!inner) throw new Error('The host has no agent.');
    await waitFor(inner, isWaiting);
    const live = JSON.stringify(inner.getSnapshot().context);
    const saved = throughJson(first.getPersistedSnapshot());
    first.stop();

    const second = createActor(host, { snapshot: saved });
    const restored = second.getSnapshot().children.agent;
    expect(JSON.stringify(restored?.getSnapshot().context)).toBe(live);
    second.start();
    restored?.send(denial);
    await waitFor(second, ({ status }) => status === 'done');
    expect(second.getSnapshot().context.answer).toBe(asText);
  });

  it.each(['a reference to a child', 'an actor', 'deep inside'])(
    'would be lost by XState alone: %s',
    (name) => {
      const plain = setup({
        types: { context: {} as { readonly said: unknown } },
        actors: { modelCall: fromPromise(() => new Promise(() => {})) },
      }).createMachine({
        context: { said: hostile[name] },
        initial: 'working',
        states: { working: { invoke: { id: 'modelCall', src: 'modelCall' } } },
      });
      const first = createActor(plain).start();
      const saved = throughJson(first.getPersistedSnapshot());
      const restored = createActor(plain, { snapshot: saved }).getSnapshot();
      expect(isDeepStrictEqual(restored.context.said, hostile[name])).toBe(false);
      first.stop();
    },
  );
});
