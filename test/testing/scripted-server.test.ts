import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import type { Script } from '../../src/testing/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../src/testing/scripted-server.ts';

const servers: ScriptedServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(script: Script) {
  const server = await startScriptedServer(script);
  servers.push(server);
  const client = new Anthropic({ apiKey: 'none', baseURL: server.url, maxRetries: 0 });
  return { server, client };
}

const tools: Anthropic.Tool[] = [{ name: 'look', input_schema: { type: 'object' } }];
const ask: Anthropic.MessageParam = { role: 'user', content: 'Go' };
const call = { model: 'claude-test', max_tokens: 99, messages: [ask] };
const opening = {
  type: 'message_start',
  message: { type: 'message', role: 'assistant', content: [], usage: {} },
};
const post = (url: string, body: string, path = '/v1/messages') =>
  fetch(url + path, { method: 'POST', body });

describe('JSON', () => {
  it('answers with the texts in order', async () => {
    const { server, client } = await start(['One', { text: 'Two', usage: { outputTokens: 5 } }]);
    const first = await client.messages.create(call);
    const second = await client.messages.create(call);
    expect(first).toMatchObject({
      model: 'claude-test',
      stop_reason: 'end_turn',
      content: [{ text: 'One' }],
    });
    expect(second).toMatchObject({
      id: 'msg_2',
      content: [{ text: 'Two' }],
      usage: { output_tokens: 5 },
    });
    expect(server.requests.map((request) => request.number)).toEqual([1, 2]);
    expect(server.requests[0]?.body).toEqual(call);
    expect(server.requests[0]?.headers.authorization).toBe('Bearer none');
  });

  it('plays a tool use and takes its result', async () => {
    const { server, client } = await start([
      { toolUses: [{ name: 'look', input: { at: 'x' } }] },
      'Done',
    ]);
    const { content, stop_reason } = await client.messages.create({ ...call, tools });
    expect(stop_reason).toBe('tool_use');
    expect(content).toEqual([
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'x' } },
    ]);
    const results: Anthropic.MessageParam = {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }],
    };
    await client.messages.create({
      ...call,
      tools,
      messages: [ask, { role: 'assistant', content }, results],
    });
    expect(server.requests[1]?.body.messages.at(-1)).toEqual(results);
    expect(server.rejected).toEqual([]);
  });

  it('asks a function for each reply, and tells it the call', async () => {
    const { client } = await start(
      async ({ number, body }) => `${number}: ${body.messages[0]?.content}`,
    );
    await client.messages.create(call);
    expect((await client.messages.create(call)).content).toEqual([{ type: 'text', text: '2: Go' }]);
  });
});

describe('streams', () => {
  it('the SDK assembles thinking, text and two tool uses', async () => {
    const toolUses = [
      { name: 'look', input: { at: 'a "long" path with é and \u{1f600}' } },
      { name: 'look' },
    ];
    const reply = { thinking: 'First look around.', text: 'I will look at both places.', toolUses };
    const { client } = await start([
      { ...reply, usage: { inputTokens: 11, outputTokens: 22, cacheReadTokens: 33 } },
    ]);
    const message = await client.messages.stream({ ...call, tools }).finalMessage();
    expect(message.content).toEqual([
      { type: 'thinking', thinking: 'First look around.', signature: 'signature_1' },
      { type: 'text', text: 'I will look at both places.' },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: toolUses[0]?.input },
      { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
    ]);
    expect(message.stop_reason).toBe('tool_use');
    expect(message.usage).toMatchObject({
      input_tokens: 11,
      output_tokens: 22,
      cache_read_input_tokens: 33,
    });
  });

  it('delivers what came before a reset, then breaks', async () => {
    const { client } = await start([
      { stream: [opening, { $reset: true }, { type: 'message_stop' }] },
    ]);
    const types: string[] = [];
    const stream = client.messages
      .stream(call)
      .on('streamEvent', (event) => types.push(event.type));
    await expect(stream.finalMessage()).rejects.toThrow();
    expect(types).toEqual(['message_start']);
  });

  it.each([true, false])(
    'a reset at the start is a connection error (stream: %s)',
    async (stream) => {
      const { client } = await start([{ stream: [{ $reset: true }] }]);
      await expect(client.messages.create({ ...call, stream })).rejects.toThrow(
        Anthropic.APIConnectionError,
      );
    },
  );

  it('keeps a hanging stream open until the server closes', async () => {
    const { server, client } = await start([{ stream: [opening, { $hang: true }] }]);
    const events = await client.messages.create({ ...call, stream: true });
    const iterator = events[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toEqual(opening);
    const rest = iterator.next();
    await server.close();
    await expect(rest).rejects.toThrow();
  });

  it('leaves a call for JSON hanging too, until it is aborted', async () => {
    const abort = new AbortController();
    const { client } = await start(({ number }) => {
      if (number === 1) queueMicrotask(() => abort.abort());
      return { stream: [{ $hang: true }] };
    });
    await expect(client.messages.create(call, { signal: abort.signal })).rejects.toThrow(
      Anthropic.APIUserAbortError,
    );
  });

  it('passes an error event on to the SDK', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const { client } = await start([{ stream: [opening, error] }]);
    await expect(client.messages.stream(call).finalMessage()).rejects.toThrow('Overloaded');
  });

  it('refuses to answer a call for JSON with a whole stream', async () => {
    const { client } = await start([{ stream: [opening] }]);
    await expect(client.messages.create(call)).rejects.toThrow('did not ask for one');
  });
});

describe('errors', () => {
  it('plays an HTTP error with its headers, and uses up the reply', async () => {
    const error = {
      status: 429,
      type: 'rate_limit_error',
      message: 'Slow down',
      headers: { 'retry-after': '7' },
    };
    const { client } = await start([{ error }, 'Fine']);
    const failure = await client.messages.create(call).catch((reason) => reason);
    expect(failure).toBeInstanceOf(Anthropic.RateLimitError);
    expect(failure.headers.get('retry-after')).toBe('7');
    expect(failure.error).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error', message: 'Slow down' },
    });
    expect((await client.messages.create(call)).content).toMatchObject([{ text: 'Fine' }]);
  });

  it('refuses a request that breaks a rule, and uses up no reply', async () => {
    const { server, client } = await start(['Fine']);
    const bad = { ...call, messages: [{ role: 'user' as const, content: '' }] };
    await expect(client.messages.create(bad)).rejects.toThrow(
      'messages.0: content must not be empty',
    );
    expect(server.rejected).toEqual([
      { problems: ['messages.0: content must not be empty'], body: bad },
    ]);
    expect(server.requests).toEqual([]);
    expect((await client.messages.create(call)).content).toMatchObject([{ text: 'Fine' }]);
  });

  it.each([true, false])('knows the thinking it sent (raw stream: %s)', async (isRaw) => {
    const block = { type: 'thinking', thinking: '', signature: '' };
    const events = [
      opening,
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'signature_delta', signature: 'signature_1' },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} },
      { type: 'message_stop' },
    ];
    const { client } = await start([isRaw ? { stream: events } : { thinking: 'Hm' }, 'Fine']);
    const { content } = await client.messages.stream(call).finalMessage();
    const echo = (thinking: string) =>
      client.messages.create({
        ...call,
        messages: [
          ask,
          {
            role: 'assistant',
            content: content.map((part) => ({
              ...part,
              thinking,
            })) as Anthropic.ThinkingBlockParam[],
          },
          ask,
        ],
      });
    await expect(echo('Hm, no')).rejects.toThrow('thinking is not as it was sent');
    expect((await echo('Hm')).content).toMatchObject([{ text: 'Fine' }]);
  });

  it('lets a paused turn be sent back', async () => {
    const { client } = await start([{ text: 'Wait', stopReason: 'pause_turn' }, 'Fine']);
    const { content } = await client.messages.create(call);
    const next = await client.messages.create({
      ...call,
      messages: [ask, { role: 'assistant', content }],
    });
    expect(next.content).toMatchObject([{ text: 'Fine' }]);
  });

  it('says so when a call is not in the script', async () => {
    const { server, client } = await start(['One']);
    await client.messages.create(call);
    await expect(client.messages.create(call)).rejects.toThrow(
      'unscripted call: this is call 2, and the script has 1 replies',
    );
    expect(server.requests).toHaveLength(1);
    expect(server.rejected).toHaveLength(1);
  });

  it('reports a script that throws, and a reply that JSON cannot hold', async () => {
    const { client } = await start(({ number }) => {
      if (number === 1) throw new Error('out of ideas');
      return { content: [{ type: 'text', text: 1n }] };
    });
    await expect(client.messages.create(call)).rejects.toThrow(
      'the script failed at call 1: Error: out of ideas',
    );
    await expect(client.messages.create(call)).rejects.toThrow('BigInt');
  });

  it.each([
    ['not JSON', '{"model":', 400, 'invalid_request_error'],
    ['too large', `"${'x'.repeat(33 * 1024 * 1024)}"`, 413, 'request_too_large'],
  ])('refuses a body that is %s', async (_name, body, status, type) => {
    const { server } = await start(['One']);
    const response = await post(server.url, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type } });
    expect(server.rejected).toMatchObject([{ body: undefined }]);
  });

  it('knows no other path', async () => {
    const { server } = await start([]);
    expect((await post(server.url, '{}', '//')).status).toBe(404);
    expect((await fetch(`${server.url}/v1/messages`)).status).toBe(404);
  });
});

it('counts a token for each four bytes', async () => {
  const { client } = await start([]);
  const { input_tokens } = await client.messages.countTokens({ model: 'm', messages: [ask] });
  expect(input_tokens).toBe(Math.ceil(JSON.stringify({ model: 'm', messages: [ask] }).length / 4));
});

it('closes twice without complaint, and then is gone', async () => {
  const { server, client } = await start(['One']);
  await server.close();
  await server.close();
  await expect(client.messages.create(call)).rejects.toThrow(Anthropic.APIConnectionError);
});
