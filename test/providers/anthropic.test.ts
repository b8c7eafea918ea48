import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { userMessage } from '../../src/core/message.ts';
import { anthropic } from '../../src/providers/anthropic.ts';
import type { AnthropicOptions } from '../../src/providers/anthropic-options.ts';
import type { Delta, ModelRequest } from '../../src/providers/provider.ts';
import {
  blockStart,
  ended,
  messageStart,
  type ReplyServer,
  startReplyServer,
  stopped,
  textPiece,
  toSse,
} from './reply-server.ts';

const request: ModelRequest = {
  system: '',
  messages: [userMessage('Go.')],
  tools: [],
  toolChoice: 'auto',
  maxTokens: 50_000,
  streams: true,
  container: null,
};

const beginning = toSse(
  messageStart(),
  blockStart(0, { type: 'text', text: '' }),
  textPiece(0, 'A'),
);
const wholeReply = {
  type: 'message',
  model: 'claude-test-1',
  content: [{ type: 'text', text: 'Whole.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 2 },
};

let server: ReplyServer | null = null;
const unhandled = vi.fn();
beforeEach(() => {
  process.on('unhandledRejection', unhandled);
});
afterEach(async () => {
  await server?.close();
  server = null;
  // Rejections are reported when the microtasks are done.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

async function answering(
  answer: (response: ServerResponse) => unknown,
  options: AnthropicOptions = {},
) {
  server = await startReplyServer(answer);
  return anthropic('claude-test', { apiKey: 'key-of-a-test', baseURL: server.url, ...options });
}

const asStream = (text: string) => (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);

const hanging = (text: string) => (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text || ': hi\n\n');

function calling(model: ReturnType<typeof anthropic>, changed: Partial<ModelRequest> = {}) {
  const controller = new AbortController();
  const deltas: Delta[] = [];
  const signs = new EventTarget();
  const removed = vi.spyOn(controller.signal, 'removeEventListener');
  const added = vi.spyOn(controller.signal, 'addEventListener');
  const onDelta = (delta: Delta) => {
    deltas.push(delta);
    signs.dispatchEvent(new Event('delta'));
  };
  const { signal } = controller;
  const reply = model.call({ ...request, ...changed }, { signal, onDelta });
  const listenersLeft = () => added.mock.calls.length - removed.mock.calls.length;
  return { controller, deltas, reply, listenersLeft, firstDelta: once(signs, 'delta') };
}

describe('a call', () => {
  it('resolves to the reply and tells it piece by piece', async () => {
    const model = await answering(asStream(beginning + toSse(ended('end_turn'), stopped)));
    const { reply, deltas, listenersLeft } = calling(model);
    expect(await reply).toEqual({
      content: [{ type: 'text', text: 'A' }],
      stopReason: 'end_turn',
      rawStopReason: 'end_turn',
      usage: expect.objectContaining({ inputTokens: 20, outputTokens: 12 }),
      model: 'claude-test-1',
    });
    expect(deltas).toEqual([{ type: 'text', index: 0, text: 'A' }]);
    expect(listenersLeft()).toBe(0);
  });

  it('without streaming asks for the reply in one piece, however long it may get', async () => {
    const model = await answering((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(wholeReply)),
    );
    const { reply, deltas } = calling(model, { streams: false });
    expect((await reply).content).toEqual(wholeReply.content);
    expect(deltas).toEqual([]);
    expect(JSON.parse(server?.bodies[0] ?? '')).not.toHaveProperty('stream');
  });

  it('that asked for a stream takes a JSON body, too', async () => {
    const model = await answering((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
        .end(JSON.stringify(wholeReply)),
    );
    const { reply, deltas } = calling(model);
    expect((await reply).content).toEqual(wholeReply.content);
    expect(deltas).toEqual([{ type: 'text', index: 0, text: 'Whole.' }]);
  });

  it('that asked for one piece takes a stream, too, and tells no pieces', async () => {
    const model = await answering(asStream(beginning + toSse(ended('end_turn'), stopped)));
    const { reply, deltas } = calling(model, { streams: false });
    expect((await reply).content).toEqual([{ type: 'text', text: 'A' }]);
    expect(deltas).toEqual([]);
  });

  it('ends with message_stop, even if the body stays open', async () => {
    const model = await answering(hanging(beginning + toSse(ended('end_turn'), stopped)));
    expect((await calling(model).reply).stopReason).toBe('end_turn');
  });

  it('sends its key, beta names and headers', async () => {
    let sent: NodeJS.Dict<string | string[]> = {};
    server = await startReplyServer((response, { headers }) => {
      sent = headers;
      response.writeHead(400).end();
    });
    const model = anthropic('claude-test', {
      apiKey: 'key-of-a-test',
      baseURL: server.url,
      betas: ['one-2026', 'two-2026'],
      headers: { 'x-team': 'blue', 'Anthropic-Beta': 'zero-2026' },
    });
    await expect(calling(model).reply).rejects.toThrow('400');
    expect(JSON.stringify(sent)).toContain('key-of-a-test');
    expect(sent['x-team']).toBe('blue');
    expect(sent['anthropic-beta']).toBe('zero-2026, one-2026, two-2026');
  });

  it('makes one request only, whatever the answer is', async () => {
    const model = await answering((response) => response.writeHead(529).end());
    await expect(calling(model).reply).rejects.toMatchObject({ code: 'provider_overloaded' });
    expect(server?.bodies).toHaveLength(1);
  });
});

describe('a call that fails', () => {
  const bodies: Record<string, (response: ServerResponse) => unknown> = {
    'an empty body': asStream(''),
    'HTML with status 200': (response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>'),
    'a body cut before any event': (response) => {
      hanging('')(response);
      setImmediate(() => response.destroy());
    },
    'a body cut after an event': (response) => {
      hanging(beginning)(response);
      setImmediate(() => response.destroy());
    },
    'a stream that just ends': asStream(beginning),
    'an event that is not JSON': asStream(`${beginning}data: {"type\n\n`),
    'an error as first event': asStream(
      toSse({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    ),
    'a socket closed without an answer': (response) => response.socket?.destroy(),
    'JSON that is cut': (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"content":['),
  };

  it.each([
    ['an empty body', 'stream_interrupted', true],
    ['HTML with status 200', 'invalid_response', true],
    ['a body cut before any event', 'stream_interrupted', true],
    ['a body cut after an event', 'stream_interrupted', false],
    ['a stream that just ends', 'stream_interrupted', false],
    ['an event that is not JSON', 'invalid_response', false],
    ['an error as first event', 'provider_overloaded', false],
    ['a socket closed without an answer', 'provider_error', false],
    ['JSON that is cut', 'invalid_response', false],
  ])('by %s rejects with %s', async (name, code, isStreamTrouble) => {
    const model = await answering(bodies[name] ?? (() => {}));
    const { reply, listenersLeft } = calling(model);
    const expected = { code, isStreamTrouble, isRetryable: true, mayHaveBilled: true };
    await expect(reply).rejects.toMatchObject(expected);
    expect(listenersLeft()).toBe(0);
  });

  it('by HTML with status 200 in one piece is an invalid response', async () => {
    const model = await answering(bodies['HTML with status 200'] ?? (() => {}));
    await expect(calling(model, { streams: false }).reply).rejects.toMatchObject({
      code: 'invalid_response',
      isStreamTrouble: false,
    });
  });

  it('for want of a server was not billed', async () => {
    const model = await answering(() => {});
    await server?.close();
    await expect(calling(model).reply).rejects.toMatchObject({
      code: 'provider_error',
      isRetryable: true,
      mayHaveBilled: false,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('for a key that no header can hold says nothing of the key', async () => {
    const model = await answering(() => {}, { apiKey: 'sk-SECRET-123\n456' });
    const failure = await calling(model).reply.catch((error: unknown) => error);
    expect(failure).toMatchObject({ isRetryable: false, mayHaveBilled: false });
    expect(String(failure)).not.toMatch(/SECRET|456/);
  });

  it('with an error that the caller’s own listener throws rejects with that error', async () => {
    const model = await answering(asStream(beginning));
    const fault = new Error('listener');
    const onDelta = () => {
      throw fault;
    };
    const { signal } = new AbortController();
    await expect(model.call(request, { signal, onDelta })).rejects.toBe(fault);
  });
});

describe('a call that takes too long', () => {
  it.each([
    ['before the first event', '', true],
    ['between two events', beginning, false],
    ['with comments only', `${beginning}: ping\n\n: ping\n\n`, false],
  ])('%s ends with stream_timeout', async (_name, text, isStreamTrouble) => {
    let isClosed = false;
    const model = await answering(
      (response) => {
        response.on('close', () => {
          isClosed = true;
        });
        hanging(text)(response);
      },
      { streamIdleMs: 30 },
    );
    const { reply, listenersLeft } = calling(model);
    const expected = { code: 'stream_timeout', isStreamTrouble, isRetryable: true };
    await expect(reply).rejects.toMatchObject(expected);
    expect(listenersLeft()).toBe(0);
    await vi.waitFor(() => expect(isClosed).toBe(true));
  });

  it('before the headers of a stream ends with stream_timeout, to be asked in the same way again', async () => {
    const model = await answering(() => {}, { streamIdleMs: 30 });
    const { reply, listenersLeft } = calling(model);
    await expect(reply).rejects.toMatchObject({
      code: 'stream_timeout',
      isRetryable: true,
      mayHaveBilled: true,
      isStreamTrouble: false,
    });
    expect(listenersLeft()).toBe(0);
  });

  it.each([
    ['before the headers, without streaming', false, () => {}],
    [
      'in a body that is no stream',
      true,
      (response: ServerResponse) =>
        response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
    ],
  ])('%s may be silent for longer than a stream', async (_name, streams, answer) => {
    const model = await answering(answer, { streamIdleMs: 1_000, timeoutMs: 1_300 });
    await expect(calling(model, { streams }).reply).rejects.toMatchObject({
      code: 'provider_error',
    });
  });

  it.each([
    ['before the headers', () => {}],
    [
      'while events keep coming',
      (response: ServerResponse) => {
        hanging(beginning)(response);
        const timer = setInterval(() => response.write(toSse({ type: 'ping' })), 5);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('as a whole, %s, ends with provider_error', async (_name, answer) => {
    const model = await answering(answer, { timeoutMs: 150 });
    const { reply, listenersLeft } = calling(model);
    const expected = { code: 'provider_error', isRetryable: true, mayHaveBilled: true };
    await expect(reply).rejects.toMatchObject(expected);
    expect(listenersLeft()).toBe(0);
  });
});

describe('a call that is aborted', () => {
  it('before it began rejects with the reason and sends nothing', async () => {
    const model = await answering(() => {});
    const reason = { why: 'never mind' };
    const signal = AbortSignal.abort(reason);
    const call = model.call(request, { signal, onDelta: () => {} });
    await expect(call).rejects.toBe(reason);
    expect(server?.bodies).toEqual([]);
  });

  it('while the SDK loads rejects with the reason and sends nothing', async () => {
    const model = await answering(() => {});
    const { controller, reply, listenersLeft } = calling(model);
    controller.abort('early');
    await expect(reply).rejects.toBe('early');
    expect(listenersLeft()).toBe(0);
    expect(server?.bodies).toEqual([]);
  });

  it('before the headers rejects with the reason', async () => {
    const arrivals = new EventTarget();
    const model = await answering(() => arrivals.dispatchEvent(new Event('request')));
    const arrived = once(arrivals, 'request');
    const { controller, reply, listenersLeft } = calling(model);
    await arrived;
    controller.abort('changed my mind');
    await expect(reply).rejects.toBe('changed my mind');
    expect(listenersLeft()).toBe(0);
  });

  it('in mid-stream rejects with the reason, cancels the body and tells no more', async () => {
    const reason = new Error('stop');
    let isClosed = false;
    const model = await answering((response) => {
      response.on('close', () => {
        isClosed = true;
      });
      hanging(beginning)(response);
    });
    const { controller, reply, deltas, firstDelta, listenersLeft } = calling(model);
    await firstDelta;
    controller.abort(reason);
    await expect(reply).rejects.toBe(reason);
    expect(deltas).toHaveLength(1);
    expect(listenersLeft()).toBe(0);
    await vi.waitFor(() => expect(isClosed).toBe(true));
  });

  it('by its own listener hears no more, though more had arrived', async () => {
    const many = Array.from({ length: 50 }, (_, index) => textPiece(0, `${index}`));
    const model = await answering(asStream(beginning + toSse(...many, ended('end_turn'), stopped)));
    const controller = new AbortController();
    let told = 0;
    const onDelta = () => {
      told += 1;
      controller.abort('enough');
    };
    await expect(model.call(request, { signal: controller.signal, onDelta })).rejects.toBe(
      'enough',
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toBe(1);
  });

  it('when it is over changes nothing', async () => {
    const model = await answering(asStream(beginning + toSse(ended('end_turn'), stopped)));
    const { controller, reply } = calling(model);
    await reply;
    controller.abort('late');
    expect((await reply).stopReason).toBe('end_turn');
  });
});

describe('the options', () => {
  it.each<[string, AnthropicOptions, object]>([
    [
      'claude-opus-5',
      {},
      { maxOutputTokens: 16_000, minOutputTokens: 256, contextWindow: 1_000_000 },
    ],
    ['claude-opus-5', { contextWindow: null, price: null }, { contextWindow: null, price: null }],
    ['claude-opus-5', { price: { input: 1, output: 2 } }, { price: { input: 1, output: 2 } }],
    ['claude-novel', {}, { contextWindow: null, price: null, id: 'claude-novel' }],
    ['m', { maxTokens: 100 }, { maxOutputTokens: 100, minOutputTokens: 100 }],
    ['m', { maxTokens: 100, minTokens: 7 }, { minOutputTokens: 7 }],
    ['m', { thinking: { type: 'enabled', budgetTokens: 2_000 } }, { minOutputTokens: 2_256 }],
  ])('of %s with %j make a model with %j', (id, options, expected) => {
    expect(anthropic(id, options)).toMatchObject({ ...expected, provider: 'anthropic' });
  });

  it.each<[string, string, AnthropicOptions]>([
    ['modelId', ' ', {}],
    ['maxTokens', 'm', { maxTokens: 0 }],
    ['maxTokens', 'm', { maxTokens: 1.5 }],
    ['minTokens', 'm', { maxTokens: 10, minTokens: 11 }],
    ['contextWindow', 'm', { contextWindow: -1 }],
    ['streamIdleMs', 'm', { streamIdleMs: Number.NaN }],
    ['timeoutMs', 'm', { timeoutMs: 2 ** 31 }],
    ['thinking.budgetTokens', 'm', { thinking: { type: 'enabled', budgetTokens: 1_000 } }],
    ['minTokens', 'm', { thinking: { type: 'enabled', budgetTokens: 2_000 }, minTokens: 2_000 }],
    ['caching', 'm', { caching: '2h' as '1h' }],
  ])('refuses an unusable %s', (field, id, options) => {
    const message = expect.stringContaining(`${field}: expected`);
    expect(() => anthropic(id, options)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message }),
    );
  });
});
