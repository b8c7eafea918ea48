import { describe, expect, it } from 'vitest';
import { requestProblems } from '../../src/testing/request-rules.ts';

const tool = { name: 'look', input_schema: { type: 'object' } };
const user = (...content: readonly unknown[]) => ({ role: 'user', content });
const assistant = (...content: readonly unknown[]) => ({ role: 'assistant', content });
const text = (value: string) => ({ type: 'text', text: value });
const use = (id: string, rest: object = {}) => ({
  type: 'tool_use',
  id,
  name: 'look',
  input: {},
  ...rest,
});
const result = (id: unknown, rest: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  ...rest,
});
const thinking = { type: 'thinking', thinking: 'Hm', signature: 'sig' };
const redacted = { type: 'redacted_thinking', data: 'xyz' };
const marked = (value: string) => ({ ...text(value), cache_control: { type: 'ephemeral' } });
const image = { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } };
const ask = user(text('Go'));
const messages = (...list: readonly unknown[]) => ({ messages: list });
const answered = (...results: readonly unknown[]) =>
  messages(ask, assistant(use('a')), user(...results));
const request = (rest: object) => ({
  model: 'm',
  max_tokens: 9,
  tools: [tool],
  messages: [ask],
  ...rest,
});

describe('good requests', () => {
  it.each<[string, object]>([
    ['a string as content', messages({ role: 'user', content: 'Go' })],
    ['a cache warm-up', { max_tokens: 0 }],
    ['a system prompt of blocks', { system: [marked('Be brief.')] }],
    [
      'two calls, answered in any order, then text',
      messages(ask, assistant(use('a'), use('b')), user(result('b'), result('a'), text('And?'))),
    ],
    ['a result without content', answered(result('a'))],
    ['a result with an empty string', answered(result('a', { content: '' }))],
    ['a result with an image', answered(result('a', { content: [text('Here'), image] }))],
    ['an error of text', answered(result('a', { content: [text('No')], is_error: true }))],
    [
      'thinking, when nothing is known of what was sent',
      messages(ask, assistant(thinking, redacted, text('Hi')), ask),
    ],
    ['the same role twice', messages(ask, ask, assistant(text('Hi')), assistant(text('Ho')), ask)],
    [
      'exactly four cache marks',
      {
        ...messages(user(marked('a'), marked('b'))),
        system: [marked('c')],
        cache_control: { type: 'ephemeral' },
      },
    ],
    [
      'a tool of the API, with no schema',
      {
        tools: [
          { type: 'web_search_20250305', name: 'web_search' },
          { type: 'mcp_toolset', mcp_server_name: 's' },
        ],
      },
    ],
    [
      'server tools',
      messages(
        ask,
        assistant(
          { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
          { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        ),
        ask,
      ),
    ],
    [
      'a key named like the prototype, inside an input',
      messages(
        ask,
        assistant(use('a', { input: JSON.parse('{"__proto__":{"constructor":1}}') })),
        user(result('a')),
      ),
    ],
    ['a surrogate pair', messages(user(text('\u{1f600}')))],
    [
      'data called cache_control inside inputs',
      messages(
        ask,
        assistant(
          ...['a', 'b', 'c', 'd', 'e'].map((id) => use(id, { input: { cache_control: {} } })),
        ),
        user(...['a', 'b', 'c', 'd', 'e'].map((id) => result(id))),
      ),
    ],
  ])('%s', (_name, rest) => {
    expect(requestProblems(request(rest))).toEqual([]);
  });
});

describe('bad requests', () => {
  it.each<[string, object, string]>([
    ['no model', { model: '' }, 'body: model must be a name'],
    ['no token limit', { max_tokens: 1.5 }, 'body: max_tokens must be a whole number'],
    ['no messages', messages(), 'body: messages must be a list of at least one'],
    ['an unknown field', { maxTokens: 3 }, 'body: the field "maxTokens" is not known'],
    [
      'a field named like the prototype',
      JSON.parse('{"__proto__":1}'),
      'body: the field "__proto__" is not known',
    ],
    ['tools that are no list', { tools: {} }, 'body: tools must be a list'],
    ['a stream that is no boolean', { stream: 'yes' }, 'body: stream must be a boolean'],
    [
      'a system prompt with an image',
      { system: [image] },
      'body: system may hold only text blocks',
    ],
    ['a blank system block', { system: [text(' ')] }, 'system.0: text must not be empty'],
    [
      'an unknown field of a message',
      messages({ ...ask, id: 'm1' }),
      'messages.0: the field "id" is not known',
    ],
    [
      'an unknown role',
      messages(ask, { role: 'tool', content: 'x' }),
      'messages.1: role must be user or assistant',
    ],
    [
      'a first message of the assistant',
      messages(assistant(text('Hi')), ask),
      'messages: the first must be a user message',
    ],
    [
      'a last message of the assistant',
      messages(ask, assistant(text('Hi'))),
      'messages: the last must not be an assistant message, unless it was paused',
    ],
    ['empty content', messages(ask, assistant(), ask), 'messages.1: content must not be empty'],
    [
      'blank content',
      messages({ role: 'user', content: ' \n' }),
      'messages.0: content must not be empty',
    ],
    [
      'content that is neither string nor list',
      messages({ role: 'user', content: 4 }),
      'messages.0: content must be a string or a list',
    ],
    ['an empty text', messages(user(text(''))), 'messages.0.content.0: text must not be empty'],
    ['a blank text', messages(user(text('\t'))), 'messages.0.content.0: text must not be empty'],
    [
      'a block without a type',
      messages(user({ text: 'x' })),
      'messages.0.content.0: must be a content block',
    ],
    [
      'an unknown field of a block',
      messages(user({ ...text('x'), isError: true })),
      'messages.0.content.0: the field "isError" is not known',
    ],
    [
      'a call in a user message',
      messages(user(use('a')), user(result('a'))),
      'messages.0.content.0: tool_use must be in an assistant message',
    ],
    [
      'a result in an assistant message',
      messages(ask, assistant(result('a')), ask),
      'messages.1.content.0: tool_result must be in a user message',
    ],
    [
      'an illegal call id',
      messages(ask, assistant(use('a b')), user(result('a b'))),
      'messages.1.content.0: id is not legal',
    ],
    [
      'an illegal call name',
      messages(ask, assistant(use('a', { name: 'no.dots' })), user(result('a'))),
      'messages.1.content.0: name is not legal',
    ],
    [
      'an input that is a list',
      messages(ask, assistant(use('a', { input: [] })), user(result('a'))),
      'messages.1.content.0: input must be an object',
    ],
    [
      'an input that is missing',
      messages(ask, assistant(use('a', { input: undefined })), user(result('a'))),
      'messages.1.content.0: input must be an object',
    ],
    [
      'a call with no answer',
      messages(ask, assistant(use('a')), ask),
      'messages.1: "a" has no tool_result in the next message',
    ],
    [
      'a call at the very end',
      messages(ask, assistant(use('a'))),
      'messages.1: "a" has no tool_result in the next message',
    ],
    [
      'an answer one message too late',
      messages(ask, assistant(use('a'), use('b')), user(result('a')), user(result('b'))),
      'messages.1: "b" has no tool_result in the next message',
    ],
    [
      'an answer without a call',
      messages(ask, assistant(text('Hi')), user(result('a'))),
      'messages.2: "a" has no tool_use in the previous message',
    ],
    [
      'an answer to nothing',
      answered(result('a'), result(undefined)),
      'messages.2: (undefined) has no tool_use in the previous message',
    ],
    [
      'two answers to one call',
      answered(result('a'), result('a')),
      'messages.2: "a" has more than one tool_result',
    ],
    [
      'text before the answer',
      answered(text('Wait'), result('a')),
      'messages.2: tool_result blocks must come first',
    ],
    [
      'text between answers',
      messages(ask, assistant(use('a'), use('b')), user(result('a'), text('x'), result('b'))),
      'messages.2: tool_result blocks must come first',
    ],
    [
      'a call id used again later',
      messages(ask, assistant(use('a')), user(result('a')), assistant(use('a')), user(result('a'))),
      'messages: the tool_use "a" is not unique',
    ],
    [
      'an empty error',
      answered(result('a', { is_error: true })),
      'messages.2.content.0: content of an error must not be empty',
    ],
    [
      'a blank error',
      answered(result('a', { is_error: true, content: ' ' })),
      'messages.2.content.0: content of an error must not be empty',
    ],
    [
      'an error with an image',
      answered(result('a', { is_error: true, content: [text('x'), image] })),
      'messages.2.content.0: content of an error must be text',
    ],
    [
      'is_error that is no boolean',
      answered(result('a', { is_error: 'yes', content: 'x' })),
      'messages.2.content.0: is_error must be a boolean',
    ],
    [
      'a result that is an object',
      answered(result('a', { content: { ok: true } })),
      'messages.2.content.0: content must be a string or a list',
    ],
    [
      'a result that holds a call',
      answered(result('a', { content: [use('b')] })),
      'messages.2.content.0: content holds a block no result may hold',
    ],
    [
      'an empty text in a result',
      answered(result('a', { content: [text('')] })),
      'messages.2.content.0.content.0: text must not be empty',
    ],
    [
      'thinking without a signature',
      messages(ask, assistant({ type: 'thinking', thinking: 'Hm' }, text('x')), ask),
      'messages.1.content.0: signature is required',
    ],
    [
      'thinking with a cache mark',
      messages(
        ask,
        assistant({ ...thinking, cache_control: { type: 'ephemeral' } }, text('x')),
        ask,
      ),
      'messages.1.content.0: the field "cache_control" is not known',
    ],
    [
      'thinking of the user',
      messages(user(thinking)),
      'messages.0.content.0: thinking must be in an assistant message',
    ],
    [
      'five cache marks',
      {
        ...messages(user(...['a', 'b', 'c'].map(marked))),
        system: [marked('d')],
        tools: [{ ...tool, cache_control: { type: 'ephemeral' } }],
      },
      'cache_control: at most 4 are allowed, found 5',
    ],
    [
      'cache marks inside results',
      answered(result('a', { content: ['a', 'b', 'c', 'd', 'e'].map(marked) })),
      'cache_control: at most 4 are allowed, found 5',
    ],
    ['a tool name used twice', { tools: [tool, tool] }, 'tools: the name "look" is not unique'],
    [
      'an illegal tool name',
      { tools: [{ ...tool, name: 'no spaces' }] },
      'tools.0: name is not legal',
    ],
    [
      'a tool without a schema',
      { tools: [{ name: 'look' }] },
      'tools.0: input_schema must be a schema of type "object"',
    ],
    [
      'a history with calls but no tools',
      { tools: undefined, ...answered(result('a')) },
      'tools: are required with tool uses',
    ],
    [
      'a lone surrogate',
      messages(user(text('a\ud800b'))),
      'body.messages.0.content.0.text: a text must not have a lone surrogate',
    ],
    [
      'a lone surrogate in a key',
      { metadata: { '\udc00': 1 } },
      'body.metadata: a text must not have a lone surrogate',
    ],
  ])('%s', (_name, rest, problem) => {
    expect(requestProblems(request(rest))).toContain(problem);
  });

  it.each([null, 'text', [], 7, undefined])('no object: %j', (body) => {
    expect(requestProblems(body)).toEqual(['the body is not a JSON object']);
  });

  it.each([
    ['null messages', { messages: [null, [], 'x'] }],
    ['null blocks', { messages: [{ role: 'user', content: [null, 3, []] }] }],
    [
      'ids that cannot become strings',
      messages(ask, assistant(use('a', { id: { toString: 1 } })), user(result({ toString: 1 }))),
    ],
    ['null tools', { tools: [null] }],
  ])('foreign shapes are reported, not thrown: %s', (_name, rest) => {
    expect(requestProblems(request(rest), [{ content: [null], stop_reason: null }])).not.toEqual(
      [],
    );
  });

  it('bears an input that nests very deep', () => {
    const depth = 200_000;
    const input = JSON.parse(`${'{"a":'.repeat(depth)}"\\ud800"${'}'.repeat(depth)}`);
    const body = request(messages(ask, assistant(use('a', { input })), user(result('a'))));
    expect(requestProblems(body)).toHaveLength(1);
  });
});

describe('what was sent earlier', () => {
  const sentCall = { content: [thinking, redacted, use('a')], stop_reason: 'tool_use' };
  const on = { thinking: { type: 'adaptive' } };
  const history = (...content: readonly unknown[]) =>
    messages(ask, assistant(...content), user(result('a')));

  it.each<[string, object, readonly string[]]>([
    ['thinking as it was', { ...on, ...history(thinking, redacted, use('a')) }, []],
    ['no thinking, when it is off', history(use('a')), []],
    [
      'thinking of an older turn left out',
      {
        ...on,
        ...messages(ask, assistant(use('a')), user(result('a')), assistant(text('Hi')), ask),
      },
      [],
    ],
    [
      'a call from elsewhere',
      { ...on, ...messages(ask, assistant(use('z')), user(result('z'))) },
      [],
    ],
    [
      'no thinking, when it is on',
      { ...on, ...history(use('a')) },
      ['messages.1: thinking is missing or moved'],
    ],
    [
      'half of the thinking',
      history(thinking, use('a')),
      ['messages.1: thinking is missing or moved'],
    ],
    [
      'thinking after the call',
      history(use('a'), thinking, redacted),
      ['messages.1: thinking is missing or moved'],
    ],
    [
      'another signature',
      { ...on, ...messages(ask, assistant({ ...thinking, signature: 'other' }, text('Hi')), ask) },
      ['messages.1: thinking is not as it was sent'],
    ],
    [
      'another text',
      { ...on, ...messages(ask, assistant({ ...thinking, thinking: 'Hm!' }, text('Hi')), ask) },
      ['messages.1: thinking is not as it was sent'],
    ],
    [
      'other redacted data',
      { ...on, ...messages(ask, assistant({ ...redacted, data: 'abc' }, text('Hi')), ask) },
      ['messages.1: thinking is not as it was sent'],
    ],
  ])('%s', (_name, rest, problems) => {
    expect(requestProblems(request(rest), [sentCall])).toEqual(problems);
  });

  it('takes thinking for the model that made it only, which another may do without', () => {
    const sent = [{ ...sentCall, model: 'other' }];
    const body = (...content: readonly unknown[]) => request({ ...on, ...history(...content) });
    expect(requestProblems(body(use('a')), sent)).toEqual([]);
    expect(requestProblems(body(thinking, redacted, use('a')), sent)).toContain(
      'messages.1: thinking was made by another model',
    );
    const own = { ...sentCall, model: body().model as string };
    expect(requestProblems(body(thinking, redacted, use('a')), [...sent, own])).toEqual([]);
  });

  it.each([
    ['that began with thinking', history(thinking, use('a')), 0],
    ['that began with a call', history(use('a')), 1],
    ['that is new', messages(ask, assistant(text('Hi')), ask), 0],
  ])('a thinking budget fits a turn %s: %#', (_name, rest, count) => {
    const budget = { thinking: { type: 'enabled', budget_tokens: 1_024 } };
    const problem = 'messages.1: the turn must begin with thinking, which is enabled';
    const problems = requestProblems(request({ ...budget, ...rest }));
    expect(problems).toEqual(count === 0 ? [] : [problem]);
  });

  it('takes the latest of two messages that had the same call', () => {
    const cutOff = { content: [{ ...thinking, thinking: 'Cut' }, use('a')], stop_reason: null };
    const body = request({ ...on, ...history(thinking, redacted, use('a')) });
    expect(requestProblems(body, [cutOff, sentCall])).toEqual([]);
  });

  const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
  const paused = { content: [text('Let me see.'), text(''), search], stop_reason: 'pause_turn' };
  const more = { content: [text('Still at it.')], stop_reason: 'pause_turn' };
  const open = 'messages: the last must not be an assistant message, unless it was paused';

  it.each<[string, readonly unknown[], readonly string[]]>([
    ['a paused message', [assistant(text('Let me see.'), search)], []],
    [
      'a message paused twice, as one',
      [assistant(text('Let me see.'), search, text('Still at it.'))],
      [],
    ],
    [
      'a message paused twice, as two',
      [assistant(text('Let me see.'), search), assistant(text('Still at it.'))],
      [],
    ],
    ['a message that was not paused', [assistant(text('Hello'))], [open]],
    ['a paused message with words put in its mouth', [assistant(search, text('So:'))], [open]],
  ])('the last message is %s', (_name, turns, problems) => {
    expect(requestProblems(request(messages(ask, ...turns)), [paused, more])).toEqual(problems);
  });
});
