/** What a run sends keeps the API's rules, whatever came before: other models, pauses, tools that are gone, odd texts. */
import { type AnthropicOptions, anthropic, createAgent, type Message } from 'pawl';
import { type Script, startScriptedServer } from 'pawl/testing';
import { expect, it } from 'vitest';
import { echo, finish, mailer, untilEvent } from './run-kit.ts';

const overloaded = { error: { status: 529, type: 'overloaded_error', message: 'Busy.' } } as const;
const asksEcho = { thinking: 'Hm.', toolUses: [{ id: 'e1', name: 'echo', input: { text: 'a' } }] };

async function overWire<Result>(
  script: Script,
  play: (model: (id: string, options?: AnthropicOptions) => ReturnType<typeof anthropic>) => Result,
) {
  const server = await startScriptedServer(script);
  const shared = { apiKey: 'none', baseURL: server.url, maxTokens: 4_096 };
  try {
    const result = await play((id, options) => anthropic(id, { ...shared, ...options }));
    expect(server.rejected).toEqual([]);
    return { result, bodies: server.requests.map(({ body }) => body) };
  } finally {
    await server.close();
  }
}

const typesIn = (messages: readonly object[]): readonly string[] =>
  (messages as readonly Message[]).flatMap(({ content }) => content.map(({ type }) => type));

it('sends a fallback model no thinking of the first, and the first its own again', async () => {
  const thinking = { type: 'enabled', budgetTokens: 1_024 } as const;
  const asksAgain = { toolUses: [{ id: 'e2', name: 'echo', input: { text: 'b' } }] };
  const script = [asksEcho, overloaded, asksAgain, 'Done.'];
  const { result, bodies } = await overWire(script, (model) => {
    const agent = createAgent({
      model: model('claude-a', { thinking }),
      fallbackModels: [model('claude-b', { thinking })],
      tools: [echo],
      retry: { maxRetries: 0 },
    });
    return finish(agent.start('Go.'));
  });
  expect(result.result.status).toBe('completed');
  expect(bodies.map(({ model }) => model)).toEqual([
    ...['claude-a', 'claude-a', 'claude-b', 'claude-a'],
  ]);
  expect(bodies.map(({ messages }) => typesIn(messages).includes('thinking'))).toEqual([
    ...[false, true, false, true],
  ]);
  expect(bodies.map((body) => body.thinking !== undefined)).toEqual([true, true, false, true]);
});

it('sends a follow-up to another model without the thinking of the one before', async () => {
  const { bodies } = await overWire([asksEcho, 'One.', 'Two.'], async (model) => {
    const first = await createAgent({ model: model('claude-a'), tools: [echo] }).start('Go.')
      .result;
    const { messages: history } = JSON.parse(JSON.stringify(first)) as typeof first;
    expect(typesIn(history)).toContain('thinking');
    await createAgent({ model: model('claude-b'), tools: [echo] }).start('And?', { history })
      .result;
  });
  expect(typesIn(bodies[2]?.messages ?? [])).not.toContain('thinking');
  expect(JSON.stringify(bodies)).not.toContain('"model":"claude-a"},');
});

it('goes on after several pauses in a row', async () => {
  const pause = (text: string) => ({ text, stopReason: 'pause_turn' });
  const { result, bodies } = await overWire([pause('one'), pause('two'), 'three'], (model) =>
    finish(createAgent({ model: model('claude-a') }).start('Go.')),
  );
  expect(result.result).toMatchObject({ status: 'completed', text: 'onetwothree' });
  expect(bodies[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant']);
});

it('tells an agent without tools of those that its history names', async () => {
  const history: readonly Message[] = [
    { role: 'user', content: [{ type: 'text', text: 'a' }] },
    {
      role: 'assistant',
      content: ['write', 'read'].map((name) => ({ type: 'tool_use', id: name, name, input: {} })),
    },
  ];
  const { result, bodies } = await overWire(['Done.'], (model) =>
    finish(createAgent({ model: model('claude-a') }).start('Go.', { history })),
  );
  expect(result.result.status).toBe('completed');
  expect(bodies[0]?.tools).toMatchObject([{ name: 'read' }, { name: 'write' }]);
});

it('goes on when a model without tools asks for one', async () => {
  const { result, bodies } = await overWire([asksEcho, 'Done.'], (model) =>
    finish(createAgent({ model: model('claude-a') }).start('Go.')),
  );
  expect(result.result.status).toBe('completed');
  expect(bodies.map(({ tools }) => tools !== undefined)).toEqual([false, true]);
});

it('sends no lone surrogate, wherever one came from', async () => {
  const odd = (text: string): string => `${text}\ud83d`;
  const mails = (id: string) => ({ toolUses: [{ id, name: 'send_mail', input: { to: 'Eve' } }] });
  const script = [mails('m1'), mails('m2'), 'Done.'];
  const { result, bodies } = await overWire(script, async (model) => {
    const agent = createAgent({
      model: model('claude-a', { stopSequences: [odd('stop')] }),
      system: odd('system'),
      tools: [mailer().tool],
    });
    const history: readonly Message[] = [
      { role: 'user', content: [{ type: 'text', text: odd('history') }] },
    ];
    const run = agent.start(odd('prompt'), { history });
    await untilEvent(run, 'approval.wanted');
    run.steer(odd('steered'));
    await run.deny('m1', odd('denied'));
    await run.idle();
    await run.approve('m2', { input: { to: odd('edited') } });
    return finish(run);
  });
  expect(result.result.status).toBe('completed');
  const sent = JSON.stringify(bodies.at(-1));
  for (const name of ['system', 'history', 'prompt', 'steered', 'denied', 'edited', 'stop']) {
    expect(sent).toContain(`${name}\ufffd`);
  }
  expect(JSON.stringify(result.result.messages)).not.toMatch(/(?<!\\)\\ud[89a-f]/);
});
