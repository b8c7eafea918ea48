import { describe, expect, it } from 'vitest';
import { invalidJsonKey } from '../../src/core/message.ts';
import { readReply } from '../../src/providers/anthropic-reply.ts';
import { replyAccumulator } from '../../src/providers/anthropic-stream.ts';
import type { Delta } from '../../src/providers/provider.ts';
import {
  blockDelta,
  blockStart,
  ended,
  inputPiece,
  messageStart,
  stopped,
  textPiece,
} from './reply-server.ts';

function play(...events: readonly unknown[]) {
  const accumulator = replyAccumulator('claude-asked-for');
  const deltas: Delta[] = [];
  for (const event of events) {
    const value = JSON.parse(JSON.stringify(event));
    const delta = accumulator.take({ name: null, data: { ok: true, value } });
    if (delta !== null) deltas.push(delta);
  }
  return { accumulator, deltas };
}

const replyOf = (...events: readonly unknown[]) =>
  play(messageStart(), ...events, stopped).accumulator.reply();

const contentOf = (...events: readonly unknown[]) => replyOf(...events, ended('end_turn')).content;

const asks = (index = 0) => blockStart(index, { type: 'tool_use', id: 't', name: 'n', input: {} });
const asked = (input: unknown) => [{ type: 'tool_use', id: 't', name: 'n', input }];
const says = (index = 0) => blockStart(index, { type: 'text', text: '' });

describe('the blocks of a stream', () => {
  it.each<[string, readonly unknown[], unknown]>([
    [
      'text from its pieces',
      [says(), textPiece(0, 'Hel'), textPiece(0, 'lo')],
      [{ type: 'text', text: 'Hello' }],
    ],
    [
      'text that began in the start of its block',
      [blockStart(0, { type: 'text', text: 'Hel' }), textPiece(0, 'lo')],
      [{ type: 'text', text: 'Hello' }],
    ],
    [
      'text with citations',
      [
        blockStart(0, { type: 'text', text: '', citations: [] }),
        blockDelta(0, { type: 'citations_delta', citation: { type: 'x', n: 1 } }),
        textPiece(0, 'so'),
        blockDelta(0, { type: 'citations_delta', citation: { type: 'x', n: 2 } }),
      ],
      [
        {
          type: 'text',
          text: 'so',
          citations: [
            { type: 'x', n: 1 },
            { type: 'x', n: 2 },
          ],
        },
      ],
    ],
    ['empty text', [says()], [{ type: 'text', text: '' }]],
    [
      'thinking with its signature',
      [
        blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
        blockDelta(0, { type: 'thinking_delta', thinking: 'H' }),
        blockDelta(0, { type: 'thinking_delta', thinking: 'm' }),
        blockDelta(0, { type: 'signature_delta', signature: 'sig' }),
      ],
      [{ type: 'thinking', thinking: 'Hm', signature: 'sig' }],
    ],
    [
      'hidden thinking',
      [
        blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
        blockDelta(0, { type: 'signature_delta', signature: 'sig' }),
      ],
      [{ type: 'thinking', thinking: '', signature: 'sig' }],
    ],
    [
      'redacted thinking',
      [blockStart(0, { type: 'redacted_thinking', data: 'zzz' })],
      [{ type: 'redacted_thinking', data: 'zzz' }],
    ],
    [
      'the input of a server tool',
      [
        blockStart(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
        inputPiece(0, '{"q":'),
        inputPiece(0, '1}'),
      ],
      [{ type: 'server_tool_use', id: 's', name: 'web_search', input: { q: 1 } }],
    ],
    [
      'a compaction, whose delta is its final value',
      [
        blockStart(0, { type: 'compaction', content: null }),
        blockDelta(0, { type: 'compaction_delta', content: 'Summary', encrypted_content: 'e' }),
      ],
      [{ type: 'compaction', content: 'Summary', encrypted_content: 'e' }],
    ],
    [
      'an unknown block as it came',
      [
        blockStart(0, { type: 'future_block', blob: { a: [1, null] } }),
        blockDelta(0, { type: 'future_delta', v: 1 }),
      ],
      [{ type: 'future_block', blob: { a: [1, null] } }],
    ],
    [
      'blocks in the order of their index',
      [says(1), textPiece(1, 'two'), says(0), textPiece(0, 'one')],
      [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    ],
    [
      'no piece for a block that never began, of a foreign kind, or of no text',
      [
        textPiece(7, 'lost'),
        says(),
        textPiece(0, 'kept'),
        inputPiece(0, '{"a":1}'),
        textPiece(-1, 'x'),
        blockDelta(0, { type: 'text_delta', text: 5 }),
        { type: 'content_block_delta', index: 0 },
        { type: 'content_block_stop', index: 9 },
      ],
      [{ type: 'text', text: 'kept' }],
    ],
    [
      'the first start of a block only',
      [says(), textPiece(0, 'one'), asks(0), textPiece(0, ' two')],
      [{ type: 'text', text: 'one two' }],
    ],
    [
      'nothing of unknown events',
      [
        { type: 'future_event' },
        { type: 'ping' },
        { type: '__proto__' },
        {},
        says(),
        textPiece(0, 'x'),
      ],
      [{ type: 'text', text: 'x' }],
    ],
    [
      'a pair of surrogates that two pieces share',
      [says(), textPiece(0, 'a\ud83d'), textPiece(0, '\ude00')],
      [{ type: 'text', text: 'a😀' }],
    ],
    [
      'no lone surrogate in a text',
      [says(), textPiece(0, 'a\ud83d'), textPiece(0, 'b')],
      [{ type: 'text', text: 'a\ufffdb' }],
    ],
  ])('%s', (_name, events, expected) => {
    expect(contentOf(...events)).toEqual(expected);
  });

  it.each<[string, readonly string[], unknown]>([
    ['no piece', [], {}],
    ['the empty piece', [''], {}],
    ['pieces cut anywhere', ['', '{"pa', 'th": "a\\', 'n", "n":1', '2}'], { path: 'a\n', n: 12 }],
    ['a cut text', ['{"path": "/srv'], { [invalidJsonKey]: '{"path": "/srv' }],
    ['null', ['null'], { [invalidJsonKey]: 'null' }],
    ['a list', ['[1,2]'], { [invalidJsonKey]: '[1,2]' }],
    ['a number', ['5'], { [invalidJsonKey]: '5' }],
    ['a string that holds an object', ['"{\\"a\\":1}"'], { [invalidJsonKey]: '"{\\"a\\":1}"' }],
    ['a number out of range', ['{"n":1e999}'], { [invalidJsonKey]: '{"n":1e999}' }],
    [
      'lone surrogates, keys too',
      ['{"\\ud83d":["\\ude00",{"a":"\\ud83d"}]}'],
      { '\ufffd': ['\ufffd', { a: '\ufffd' }] },
    ],
    ['a lone surrogate in no JSON', ['{"a\ud83d'], { [invalidJsonKey]: '{"a\ufffd' }],
  ])('a tool input of %s', (_name, pieces, input) => {
    const events = pieces.map((piece) => inputPiece(0, piece));
    expect(contentOf(asks(), ...events)).toEqual(asked(input));
  });

  it.each<[string, unknown, unknown]>([
    ['an object', { a: 1 }, { a: 1 }],
    ['nothing', undefined, {}],
    ['null', null, { [invalidJsonKey]: 'null' }],
    ['a list', [1], { [invalidJsonKey]: '[1]' }],
    ['a string', '{"a":1}', { [invalidJsonKey]: '"{\\"a\\":1}"' }],
    ['a lone surrogate', { a: '\ud83d' }, { a: '\ufffd' }],
  ])('a tool input that is complete at the start: %s', (_name, input, expected) => {
    const start = blockStart(0, { type: 'tool_use', id: 't', name: 'n', input });
    expect(contentOf(start)).toEqual(asked(expected));
    const content = [{ type: 'tool_use', id: 't', name: 'n', input, caller: null }];
    const usage = { input_tokens: 1, output_tokens: 1 };
    expect(readReply(JSON.parse(JSON.stringify({ content, usage })), 'm').content).toEqual(
      asked(expected),
    );
  });

  it('a tool input keeps prototype-named keys as data', () => {
    const raw = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":1},"q":1}';
    const [block] = contentOf(asks(), inputPiece(0, raw));
    expect(JSON.stringify(block?.type === 'tool_use' && block.input)).toBe(raw);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });

  it('a tool input that nests too deep to be written again counts as no JSON', () => {
    const raw = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(contentOf(asks(), inputPiece(0, raw))).toEqual(asked({ [invalidJsonKey]: raw }));
  });
});

describe('deltas', () => {
  it('tell text, thinking and tool input as they come, and no empty piece', () => {
    const { deltas } = play(
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      blockDelta(0, { type: 'thinking_delta', thinking: 'Hm' }),
      blockDelta(0, { type: 'signature_delta', signature: 'sig' }),
      blockStart(1, { type: 'text', text: 'A' }),
      textPiece(1, 'b'),
      textPiece(1, ''),
      asks(2),
      inputPiece(2, ''),
      inputPiece(2, '{}'),
      blockStart(3, { type: 'server_tool_use', id: 's', name: 'x', input: {} }),
      inputPiece(3, '{}'),
    );
    expect(deltas).toEqual([
      { type: 'thinking', index: 0, text: 'Hm' },
      { type: 'text', index: 1, text: 'A' },
      { type: 'text', index: 1, text: 'b' },
      { type: 'tool_input', index: 2, text: '{}' },
    ]);
  });
});

describe('the usage of a stream', () => {
  const usageOf = (start: object, ...later: readonly object[]) =>
    play(
      messageStart({ usage: start }),
      ...later.map((usage) => ended('end_turn', usage)),
      stopped,
    ).accumulator.reply().usage;

  it.each<[string, object, readonly object[], object]>([
    [
      'replaces, never adds',
      { input_tokens: 25, output_tokens: 1 },
      [{ output_tokens: 7 }, { output_tokens: 15 }],
      { inputTokens: 25, outputTokens: 15 },
    ],
    [
      'grows with server tools',
      { input_tokens: 2_037, output_tokens: 1 },
      [{ input_tokens: 15_665, output_tokens: 795 }],
      { inputTokens: 15_665, outputTokens: 795 },
    ],
    [
      'keeps what later counts leave out or null',
      { input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 100 },
      [{ input_tokens: null, output_tokens: 9 }],
      { inputTokens: 5, outputTokens: 9, cacheReadTokens: 100 },
    ],
    [
      'knows the lifetimes of cache writes',
      {
        input_tokens: 5,
        output_tokens: 1,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      },
      [{ output_tokens: 9 }],
      { cacheWriteTokens: 30, cacheWriteLongTokens: 20 },
    ],
    [
      'counts later cache writes at the longer lifetime, once there was one',
      {
        input_tokens: 5,
        output_tokens: 1,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      },
      [{ output_tokens: 9, cache_creation_input_tokens: 50 }],
      { cacheWriteTokens: 50, cacheWriteLongTokens: 40 },
    ],
    [
      'adds compactions, which the totals leave out',
      { input_tokens: 5, output_tokens: 1 },
      [
        {
          output_tokens: 9,
          iterations: [
            { type: 'compaction', input_tokens: 1_000, output_tokens: 100 },
            { type: 'message', input_tokens: 5, output_tokens: 9 },
          ],
        },
      ],
      { inputTokens: 1_005, outputTokens: 109 },
    ],
    [
      'takes no count that is none',
      { input_tokens: 5, output_tokens: 1, cache_read_input_tokens: -4 },
      [{ output_tokens: 9, cache_creation_input_tokens: 'many' }],
      { inputTokens: 5, outputTokens: 9, cacheReadTokens: 0, cacheWriteTokens: 0 },
    ],
  ])('%s', (_name, start, later, expected) => {
    expect(usageOf(start, ...later)).toMatchObject(expected);
  });
});

describe('the end of a stream', () => {
  it.each([
    ['end_turn', 'end_turn'],
    ['pause_turn', 'pause_turn'],
    ['model_context_window_exceeded', 'model_context_window_exceeded'],
    ['sensitive', 'unknown'],
    ['__proto__', 'unknown'],
    [null, 'unknown'],
  ])('for the reason %s is %s', (raw, stopReason) => {
    const rawStopReason = raw;
    expect(replyOf(ended(raw))).toMatchObject({ stopReason, rawStopReason });
  });

  it('names the model that answered, or else the one that was asked', () => {
    expect(replyOf(ended('end_turn')).model).toBe('claude-test-1');
    const nameless = play(messageStart({ model: null }), ended('end_turn'), stopped);
    expect(nameless.accumulator.reply().model).toBe('claude-asked-for');
  });

  it('carries why the model refused', () => {
    const stop_details = { type: 'refusal', category: 'cyber', explanation: null };
    const delta = { stop_reason: 'refusal', stop_details };
    const reply = replyOf({ type: 'message_delta', delta, usage: { output_tokens: 5 } });
    expect(reply.refusal).toEqual({ category: 'cyber', explanation: null });
  });

  it('carries the container', () => {
    const delta = { stop_reason: 'end_turn', container: { id: 'c_1', expires_at: 'later' } };
    expect(replyOf({ type: 'message_delta', delta }).container).toBe('c_1');
    expect(replyOf(ended('end_turn'))).not.toHaveProperty('container');
  });

  it.each<[string, readonly unknown[], string, boolean]>([
    ['without any event', [], 'stream_interrupted', true],
    ['without message_stop', [messageStart(), says()], 'stream_interrupted', false],
    [
      'after the message_delta only',
      [messageStart(), ended('end_turn')],
      'stream_interrupted',
      false,
    ],
    ['without message_delta', [messageStart(), says(), stopped], 'stream_interrupted', false],
    ['without message_start', [says(), ended('end_turn'), stopped], 'invalid_response', false],
    [
      'without usage',
      [messageStart({ usage: null }), ended('end_turn'), stopped],
      'invalid_response',
      false,
    ],
  ])('%s is a failure', (_name, events, code, isStreamTrouble) => {
    const { accumulator } = play(...events);
    const expected = { code, isStreamTrouble, isRetryable: true, mayHaveBilled: true };
    expect(() => accumulator.reply()).toThrow(expect.objectContaining(expected));
  });

  it('is the end: what follows does not count', () => {
    const { accumulator } = play(messageStart(), ended('end_turn'), stopped, says(), {
      type: 'error',
    });
    expect(accumulator.reply().content).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    [
      'an error event',
      { type: 'error', error: { type: 'overloaded_error' } },
      'provider_overloaded',
    ],
    ['an error without a type', { error: { message: 'upstream died' } }, 'stream_error'],
    ['an event that is no object', 5, 'invalid_response'],
    ['a start without a block', { type: 'content_block_start', index: 0 }, 'invalid_response'],
    ['a start without an index', blockStart(-1, { type: 'text' }), 'invalid_response'],
  ])('comes early by %s', (_name, event, code) => {
    expect(() => play(messageStart(), event)).toThrow(expect.objectContaining({ code }));
  });

  it.each([
    [[], true],
    [[messageStart()], false],
  ])('comes early by data that is not JSON, after %j', (events, isStreamTrouble) => {
    const { accumulator } = play(...events);
    expect(() => accumulator.take({ name: null, data: { ok: false, reason: 'no' } })).toThrow(
      expect.objectContaining({ code: 'invalid_response', isStreamTrouble }),
    );
  });

  it('takes the type from the event line when the data has none', () => {
    const { accumulator } = play(messageStart());
    const data = { ok: true, value: { message: 'gone' } } as const;
    expect(() => accumulator.take({ name: 'error', data })).toThrow('gone');
  });
});

describe('readReply', () => {
  const usage = { input_tokens: 1, output_tokens: 1 };

  it.each<[string, unknown]>([
    ['nothing', null],
    ['text', '<html>'],
    ['a list', []],
    ['another API’s answer', { choices: [], usage }],
    ['null content', { content: null, usage }],
    ['null usage', { content: [], usage: null }],
    ['usage without counts', { content: [], usage: {} }],
    ['a block without a type', { content: [{ text: 'x' }], usage }],
    ['a block that is no object', { content: ['x'], usage }],
  ])('refuses %s', (_name, body) => {
    const expected = { code: 'invalid_response', isRetryable: true, mayHaveBilled: true };
    expect(() => readReply(body, 'm')).toThrow(expect.objectContaining(expected));
  });

  it('tells an error that came with status 200', () => {
    const body = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect(() => readReply(body, 'm')).toThrow(
      expect.objectContaining({ code: 'provider_overloaded' }),
    );
  });
});
