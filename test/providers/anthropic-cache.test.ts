import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import type { ContentBlock, Message } from '../../src/core/message.ts';
import { type RequestSettings, requestBody } from '../../src/providers/anthropic-request.ts';
import { requestProblems } from '../../src/testing/request-rules.ts';

const settings: RequestSettings = {
  model: 'claude-test',
  caching: '5m',
  serverTools: [],
  extraBody: {},
};
const tool = (name: string) => ({ name, description: 'A tool.', inputSchema: { type: 'object' } });

function bodyOf(
  messages: readonly Message[],
  changed: Partial<RequestSettings> = {},
  system = 'Be kind.',
): JsonObject {
  const request = { system, messages, tools: [tool('a'), tool('b')], toolChoice: 'auto' as const };
  return requestBody(
    { ...request, maxTokens: 100, streams: true, container: null },
    { ...settings, ...changed },
  );
}

/** Where the marks are, as paths. */
function marksIn(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const here = 'cache_control' in value ? [path.slice(1)] : [];
  const below = Object.entries(value).flatMap(([key, child]) => marksIn(child, `${path}.${key}`));
  return [...here, ...below];
}

const withoutMarks = (value: unknown): string =>
  JSON.stringify(value, (key, child) => (key === 'cache_control' ? undefined : child));

const says = (text: string): ContentBlock => ({ type: 'text', text });
const thinks: ContentBlock = { type: 'thinking', thinking: 'Hm.', signature: 's' };
const user = (...content: readonly ContentBlock[]): Message => ({ role: 'user', content });
const model = (...content: readonly ContentBlock[]): Message => ({ role: 'assistant', content });

/** One more turn: `calls` tool uses, all answered. */
function grown(messages: readonly Message[], calls: number): readonly Message[] {
  const ids = Array.from({ length: calls }, (_, index) => `m${messages.length}_${index}`);
  return [
    ...messages,
    model(
      thinks,
      ...ids.map((id): ContentBlock => ({ type: 'tool_use', id, name: 'a', input: {} })),
    ),
    user(
      ...ids.map((id): ContentBlock => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })),
    ),
  ];
}

const first = [user(says('Go.'))];

describe('cache marks', () => {
  it.each<[string, readonly Message[], Partial<RequestSettings>, string, readonly string[]]>([
    ['first request', first, {}, 'S', ['system.0', 'tools.1', 'messages.0.content.0']],
    ['without a system prompt', first, {}, '', ['tools.1', 'messages.0.content.0']],
    ['no caching', first, { caching: false }, 'S', []],
    [
      'after a turn: the end, and the end of the request before',
      grown(first, 2),
      {},
      'S',
      ['system.0', 'tools.1', 'messages.0.content.0', 'messages.2.content.1'],
    ],
    [
      'never on thinking or on empty text',
      [...first, model(says('Hi'), thinks, says(' '))],
      {},
      'S',
      ['system.0', 'tools.1', 'messages.0.content.0', 'messages.1.content.0'],
    ],
    [
      'not on a block type that nobody knows',
      [user(says('Go.'), { type: 'future_block' } as unknown as ContentBlock)],
      {},
      '',
      ['tools.1', 'messages.0.content.0'],
    ],
    [
      "a mark of the caller's takes the place of the one on our tools",
      grown(first, 1),
      { serverTools: [{ type: 'x', name: 'x', cache_control: { type: 'ephemeral' } }] },
      'S',
      ['system.0', 'tools.2', 'messages.0.content.0', 'messages.2.content.0'],
    ],
    [
      "four of the caller's leave no room",
      grown(first, 1),
      {
        serverTools: ['p', 'q', 'r', 's'].map((name) => ({
          name,
          cache_control: { type: 'ephemeral' },
        })),
      },
      'S',
      ['tools.2', 'tools.3', 'tools.4', 'tools.5'],
    ],
    [
      'an automatic mark of the caller’s is left alone',
      first,
      { extraBody: { cache_control: { type: 'ephemeral' } } },
      'S',
      [''],
    ],
  ])('%s', (_name, messages, changed, system, expected) => {
    expect([...marksIn(bodyOf(messages, changed, system))].sort()).toEqual([...expected].sort());
  });

  it('live an hour when asked to', () => {
    const marks = JSON.stringify(bodyOf(grown(first, 1), { caching: '1h' })).match(/"ttl":"1h"/g);
    expect(marks).toHaveLength(4);
  });

  it('never come with an hour after one of five minutes', () => {
    const serverTools = [{ type: 'x', name: 'x', cache_control: { type: 'ephemeral' } }];
    expect(JSON.stringify(bodyOf(first, { caching: '1h', serverTools }))).toMatch(
      /"cache_control":\{"type":"ephemeral"\}.*"name":"b".*"ttl":"1h".*"name":"x"/,
    );
  });

  it('of a growing conversation: never more than four, and each lookup finds the last write', () => {
    let messages: readonly Message[] = first;
    let previousEnd = 'messages.0.content.0';
    for (const calls of [1, 2, 30, 1, 25, 3]) {
      messages = grown(messages, calls);
      const body = bodyOf(messages);
      const marks = marksIn(body);
      expect(marks.length).toBeLessThanOrEqual(4);
      expect(marks).toContain(previousEnd);
      expect(requestProblems(body)).toEqual([]);
      previousEnd = `messages.${messages.length - 1}.content.${calls - 1}`;
      expect(marks).toContain(previousEnd);
    }
  });

  it('are all that differs between the common parts of two requests', () => {
    let messages: readonly Message[] = first;
    let before = bodyOf(messages);
    for (const calls of [1, 30, 2]) {
      const known = messages.length;
      messages = grown(messages, calls);
      const body = bodyOf(messages);
      const common = (body.messages as readonly JsonObject[]).slice(0, known);
      expect(withoutMarks({ ...body, messages: common })).toBe(withoutMarks(before));
      before = body;
    }
  });
});
