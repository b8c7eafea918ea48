import { expect, it } from 'vitest';
import {
  readStreamEvents,
  type ScriptedMessage,
  toStreamEvents,
  toWireMessage,
} from '../../src/testing/script.ts';

const call = {
  number: 3,
  model: 'claude-test',
  requestBytes: 401,
  usedToolUseIds: new Set<string>(),
};

it.each<[string, string | ScriptedMessage, object]>([
  ['a string', 'Hi', { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }],
  ['nothing at all', {}, { content: [], stop_reason: 'end_turn' }],
  [
    'thinking before text',
    { text: 'Hi', thinking: 'Hm' },
    {
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'signature_3' },
        { type: 'text', text: 'Hi' },
      ],
    },
  ],
  [
    'a tool use without an input',
    { toolUses: [{ name: 'now' }] },
    {
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'now', input: {} }],
      stop_reason: 'tool_use',
    },
  ],
  [
    'raw content with a tool use',
    { content: [{ type: 'tool_use', id: 'a', name: 'now', input: {} }] },
    { stop_reason: 'tool_use' },
  ],
  [
    'a stop reason with its details',
    { text: 'No', stopReason: 'refusal', stopDetails: { type: 'refusal' } },
    { stop_reason: 'refusal', stop_details: { type: 'refusal' } },
  ],
  [
    'usage, part given and part computed',
    { text: 'Hi', usage: { outputTokens: 7, cacheReadTokens: 9 } },
    {
      usage: {
        input_tokens: 101,
        output_tokens: 7,
        cache_read_input_tokens: 9,
        cache_creation_input_tokens: 0,
      },
    },
  ],
])('makes a message of %s', (_name, reply, expected) => {
  expect(toWireMessage(reply, call)).toMatchObject({
    id: 'msg_3',
    type: 'message',
    role: 'assistant',
    model: 'claude-test',
    ...expected,
  });
});

it('numbers the tool uses over the whole script and never gives an id twice', () => {
  const usedToolUseIds = new Set(['toolu_1', 'toolu_4']);
  const toolUses = [{ name: 'a' }, { name: 'b' }, { name: 'c', id: 'own' }, { name: 'd' }];
  const { content } = toWireMessage({ toolUses }, { ...call, usedToolUseIds });
  expect(content.map((block) => Object(block).id)).toEqual([
    'toolu_3',
    'toolu_5',
    'own',
    'toolu_6',
  ]);
  expect(usedToolUseIds.size).toBe(2);
});

const rich = toWireMessage(
  {
    content: [
      { type: 'thinking', thinking: 'First this, then that.', signature: 'sig' },
      { type: 'redacted_thinking', data: 'xyz' },
      {
        type: 'text',
        text: `${'x'.repeat(8)}\u{1f600}\u{1f600} and more`,
        citations: [{ type: 'c' }],
      },
      { type: 'tool_use', id: 'a', name: 'save', input: { path: 'a/b', text: 'é'.repeat(30) } },
      { type: 'tool_use', id: 'b', name: 'now', input: {} },
    ],
    usage: { outputTokens: 50 },
  },
  call,
);

it('streams the blocks one after another, each from start to stop', () => {
  const types = toStreamEvents(rich).map((event) => event.type);
  expect(types.filter((type, at) => type !== types[at - 1])).toEqual([
    'message_start',
    'ping',
    ...['content_block_start', 'content_block_delta', 'content_block_stop'],
    ...['content_block_start', 'content_block_stop'],
    ...Array(3).fill(['content_block_start', 'content_block_delta', 'content_block_stop']).flat(),
    'message_delta',
    'message_stop',
  ]);
});

it('opens a stream with preliminary usage and ends it with the whole', () => {
  const events = toStreamEvents(rich);
  expect(events[0]).toMatchObject({
    message: { content: [], stop_reason: null, usage: { input_tokens: 101, output_tokens: 1 } },
  });
  expect(events.at(-2)).toMatchObject({
    delta: { stop_reason: 'tool_use' },
    usage: { input_tokens: 101, output_tokens: 50 },
  });
});

it('cuts inputs into pieces that join to the JSON, and sends one empty piece for an empty input', () => {
  const pieces = (index: number) =>
    toStreamEvents(rich).flatMap((event) =>
      event.type === 'content_block_delta' && event.index === index
        ? [String(Object(event.delta).partial_json)]
        : [],
    );
  expect(pieces(3).length).toBeGreaterThan(3);
  expect(JSON.parse(pieces(3).join(''))).toEqual({ path: 'a/b', text: 'é'.repeat(30) });
  expect(pieces(4)).toEqual(['']);
});

it('never cuts a surrogate pair', () => {
  const deltas = toStreamEvents(rich).map((event) => String(Object(event.delta).text ?? ''));
  expect(deltas.filter((text) => /\p{Surrogate}/u.test(text))).toEqual([]);
  expect(deltas.join('')).toBe(`${'x'.repeat(8)}\u{1f600}\u{1f600} and more`);
});

it('cuts a huge text into a bounded number of pieces', () => {
  const events = toStreamEvents(toWireMessage('x'.repeat(1_000_000), call));
  expect(events.length).toBeLessThan(220);
});

it('reads back from the events what later requests are checked against', () => {
  const { content, stop_reason } = readStreamEvents(toStreamEvents(rich));
  expect(stop_reason).toBe('tool_use');
  expect(content.slice(0, 2)).toEqual(rich.content.slice(0, 2));
  expect(content[2]).toMatchObject({ text: `${'x'.repeat(8)}\u{1f600}\u{1f600} and more` });
  expect(content[3]).toMatchObject({ type: 'tool_use', id: 'a', name: 'save' });
});

it('reads foreign events without a fault', () => {
  const events = [
    null,
    'text',
    { type: 'content_block_delta', index: 9, delta: { text: 'x' } },
    {},
  ];
  expect(readStreamEvents(events)).toEqual({ content: [], stop_reason: null });
});
