import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { type Message, userMessage } from '../../src/core/message.ts';
import { type RequestSettings, requestBody } from '../../src/providers/anthropic-request.ts';
import type { ModelRequest } from '../../src/providers/provider.ts';
import { requestProblems } from '../../src/testing/request-rules.ts';

const settings: RequestSettings = {
  model: 'claude-test',
  caching: false,
  serverTools: [],
  extraBody: {},
};

const plain: ModelRequest = {
  system: '',
  messages: [userMessage('Hello')],
  tools: [],
  toolChoice: 'auto',
  maxTokens: 4_096,
  streams: false,
  container: null,
};

const tools = [{ name: 't', description: 'A tool.', inputSchema: { type: 'object' } }];

const body = (request: Partial<ModelRequest>, changed: Partial<RequestSettings> = {}): JsonObject =>
  requestBody({ ...plain, ...request }, { ...settings, ...changed });

describe('requestBody', () => {
  it('a plain request has nothing but model, limit and messages', () => {
    expect(body({})).toEqual({
      model: 'claude-test',
      max_tokens: 4_096,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    });
  });

  it.each<[string, Partial<ModelRequest>, Partial<RequestSettings>, JsonObject]>([
    [
      'the system prompt as a text block',
      { system: 'Be kind.' },
      {},
      { system: [{ type: 'text', text: 'Be kind.' }] },
    ],
    ['the wish to stream', { streams: true }, {}, { stream: true }],
    ['the container', { container: 'c_1' }, {}, { container: 'c_1' }],
    [
      'a tool',
      { tools },
      {},
      { tools: [{ name: 't', description: 'A tool.', input_schema: { type: 'object' } }] },
    ],
    [
      "the caller's tools after ours",
      { tools },
      { serverTools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      {
        tools: [
          { name: 't', description: 'A tool.', input_schema: { type: 'object' } },
          { type: 'web_search_20250305', name: 'web_search' },
        ],
      },
    ],
    ['a forced choice', { tools, toolChoice: 'any' }, {}, { tool_choice: { type: 'any' } }],
    ['no tool use', { tools, toolChoice: 'none' }, {}, { tool_choice: { type: 'none' } }],
    [
      'no tool use, whatever else is wished',
      { tools, toolChoice: 'none' },
      { disableParallelToolUse: true },
      { tool_choice: { type: 'none' } },
    ],
    [
      'one named tool',
      { tools, toolChoice: { tool: 't' } },
      {},
      { tool_choice: { type: 'tool', name: 't' } },
    ],
    [
      'one tool use at a time',
      { tools },
      { disableParallelToolUse: true },
      { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    ],
    [
      'sampling fields',
      {},
      { temperature: 0, topP: 0.5, topK: 3, stopSequences: ['END'] },
      { temperature: 0, top_p: 0.5, top_k: 3, stop_sequences: ['END'] },
    ],
    [
      'more fields, none of which replaces ours',
      {},
      { extraBody: { metadata: { user_id: 'u' }, model: 'other', max_tokens: 1, messages: [] } },
      { metadata: { user_id: 'u' }, model: 'claude-test', max_tokens: 4_096 },
    ],
    [
      'adaptive thinking',
      {},
      { thinking: { type: 'adaptive' } },
      { thinking: { type: 'adaptive' } },
    ],
    [
      'disabled thinking',
      {},
      { thinking: { type: 'disabled' } },
      { thinking: { type: 'disabled' } },
    ],
  ])('holds %s', (_name, request, changed, expected) => {
    expect(body(request, changed)).toMatchObject(expected);
  });

  it.each<[string, Partial<ModelRequest>, number, number | null]>([
    ['fits', { maxTokens: 4_096 }, 2_048, 2_048],
    ['just fits', { maxTokens: 2_049 }, 2_048, 2_048],
    ['is shrunk to leave room', { maxTokens: 4_096 }, 8_000, 3_072],
    ['is shrunk to the least', { maxTokens: 2_048 }, 2_048, 1_024],
    ['is left out when too little is left', { maxTokens: 2_047 }, 2_047, null],
    ['is left out with a forced choice', { toolChoice: 'any', tools }, 2_048, null],
    ['is left out with a forced tool', { toolChoice: { tool: 't' }, tools }, 2_048, null],
    ['stays when no tool may be used', { toolChoice: 'none', tools }, 2_048, 2_048],
  ])('a thinking budget that %s', (_name, request, budgetTokens, expected) => {
    const { thinking } = body(request, { thinking: { type: 'enabled', budgetTokens } });
    expect(thinking).toEqual(
      expected === null ? undefined : { type: 'enabled', budget_tokens: expected },
    );
  });

  const use = (id: string) => ({ type: 'tool_use', id, name: 't', input: {} }) as const;
  const answer = (id: string): Message => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: 'b' }],
  });
  const thought = { type: 'thinking', thinking: 'Hm', signature: 's' } as const;
  const turn = (...content: Message['content']): Message => ({ role: 'assistant', content });
  it.each<[string, readonly Message[], boolean]>([
    ['a turn that began without any', [turn(use('a')), answer('a')], false],
    ['a turn that began with some', [turn(thought, use('a')), answer('a')], true],
    [
      'a later call of a turn that began with some',
      [turn(thought, use('a')), answer('a'), turn(use('b')), answer('b')],
      true,
    ],
    [
      'a new turn',
      [turn(use('a')), answer('a'), turn({ type: 'text', text: 'b' }), userMessage('c')],
      true,
    ],
    ['a paused turn that began without any', [turn({ type: 'text', text: 'b' })], false],
  ])('a thinking budget in %s', (_name, messages, isSent) => {
    const thinking = { type: 'enabled', budgetTokens: 2_000 } as const;
    const sent = body({ tools, messages: [userMessage('a'), ...messages] }, { thinking });
    expect(Object.hasOwn(sent, 'thinking')).toBe(isSent);
    const ended = messages.at(-1)?.role === 'user';
    if (ended) expect(requestProblems(sent)).toEqual([]);
  });

  it.each(['tool_choice', 'tools', 'system', 'thinking', 'temperature', 'stream', 'container'])(
    'leaves out %s when there is no need of it',
    (field) => {
      expect(body({ toolChoice: 'any' })).not.toHaveProperty(field);
    },
  );

  const history: readonly Message[] = [
    userMessage('Look.'),
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: '', signature: 'sig' },
        { type: 'redacted_thinking', data: 'zzz' },
        { type: 'text', text: 'Looking.', citations: [{ type: 'char_location' }] },
        { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 'srv', content: [] },
        { type: 'tool_use', id: 'a', name: 't', input: { q: 1 }, caller: { type: 'direct' } },
        { type: 'tool_use', id: 'b', name: 't', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'one' }] },
        { type: 'tool_result', tool_use_id: 'b', content: 'broke', is_error: true },
      ],
    },
  ];

  it('translates every block without a change', () => {
    const request = body({ messages: history, tools });
    expect(request.messages).toEqual(history);
    expect(requestProblems(request)).toEqual([]);
  });

  it('drops fields that are not the API’s', () => {
    const marked = JSON.parse(
      JSON.stringify(history).replaceAll('"type":"te', '"internal":1,"type":"te'),
    );
    expect(body({ messages: marked, tools }).messages).toEqual(history);
  });

  it('keeps prototype-named keys of an input as data', () => {
    const input = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}');
    const message: Message = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'a', name: 't', input }],
    };
    const sent = JSON.stringify(body({ messages: [message] }));
    expect(sent).toContain('"input":{"__proto__":{"polluted":true},"constructor":1}');
    expect(({} as JsonObject).polluted).toBeUndefined();
  });
});
