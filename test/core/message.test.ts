import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import {
  type ContentBlock,
  errorResult,
  invalidJsonIn,
  isBlank,
  type ToolUse,
  text,
  textIn,
  tokensAtMost,
  toolUsesIn,
  userMessage,
} from '../../src/core/message.ts';

const use = (id: string): ToolUse => ({ type: 'tool_use', id, name: 'search', input: {} });

describe('isBlank', () => {
  it.each([
    ['', true],
    [' \n\t\u00a0\u2003\ufeff', true],
    ['\u200b', false],
    ['\u0000', false],
    [' a ', false],
  ])('of %j is %s', (value, expected) => {
    expect(isBlank(value)).toBe(expected);
  });
});

describe('toolUsesIn', () => {
  it('finds those of an assistant message, in order', () => {
    const content = [text('a'), use('1'), text('b'), use('2')];
    expect(toolUsesIn({ role: 'assistant', content })).toEqual([use('1'), use('2')]);
  });

  it('finds none in a user message, and none in no message', () => {
    expect(toolUsesIn({ role: 'user', content: [use('1')] })).toEqual([]);
    expect(toolUsesIn(undefined)).toEqual([]);
  });
});

it('joins text as the model wrote it, and nothing but text', () => {
  const thinking: ContentBlock = { type: 'thinking', thinking: 'hm', signature: 's' };
  expect(textIn([text(' a'), thinking, use('1'), text('b ')])).toBe(' ab ');
});

it('makes messages and error results of plain shape', () => {
  expect(userMessage('hi')).toEqual({ role: 'user', content: [{ type: 'text', text: 'hi' }] });
  expect(errorResult('1', 'why')).toEqual({
    type: 'tool_result',
    tool_use_id: '1',
    content: 'why',
    is_error: true,
  });
});

describe('invalidJsonIn', () => {
  it.each<[string, unknown, string | null]>([
    ['the raw text alone', { INVALID_JSON: '{"a":' }, '{"a":'],
    ['an empty raw text', { INVALID_JSON: '' }, ''],
    ['a field beside it: real arguments', { INVALID_JSON: 'x', a: 1 }, null],
    ['a value that is no text', { INVALID_JSON: 1 }, null],
    ['other fields', { a: 1 }, null],
    ['a prototype-named field', JSON.parse('{"__proto__":{"INVALID_JSON":"x"}}'), null],
    ['no fields', {}, null],
    ['a list', ['x'], null],
    ['null', null, null],
  ])('of %s', (_, input, expected) => {
    expect(invalidJsonIn(input)).toBe(expected);
  });
});

describe('tokensAtMost', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.integer({ min: 0xd700, max: 0xe0ff }))
      .map((units) => String.fromCharCode(...units)),
  );
  const anyInput = fc.dictionary(anyText, fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>);
  const flatBlock: fc.Arbitrary<ContentBlock> = fc.oneof(
    anyText.map(text),
    fc.record({ type: fc.constant('thinking' as const), thinking: anyText, signature: anyText }),
    fc.record({ type: fc.constant('redacted_thinking' as const), data: anyText }),
    fc.record({
      type: fc.constant('tool_use' as const),
      id: anyText,
      name: anyText,
      input: anyInput,
    }),
    fc.record({ type: fc.constant('search_result' as const), title: anyText, content: anyText }),
    fc.record({ type: fc.constant('document' as const), source: anyInput as fc.Arbitrary<Json> }),
  );
  const anyBlock: fc.Arbitrary<ContentBlock> = fc.oneof(
    flatBlock,
    fc.record({
      type: fc.constant('tool_result' as const),
      tool_use_id: anyText,
      content: fc.oneof(anyText, fc.array(flatBlock, { maxLength: 3 })),
    }),
  );

  /** Every string in it, keys too, but the names of our own fields. */
  function stringsIn(value: unknown): readonly string[] {
    if (typeof value === 'string') return [value];
    if (typeof value !== 'object' || value === null) return [];
    return Object.values(value).flatMap(stringsIn);
  }

  it('is at least the UTF-8 bytes of all text in the blocks, however it is nested', () => {
    let wide = 0;
    fc.assert(
      fc.property(fc.array(anyBlock, { maxLength: 6 }), (content) => {
        const { length } = content;
        const types = content.flatMap((block) =>
          block.type === 'tool_result' && typeof block.content !== 'string' ? block.content : [],
        );
        const strings = stringsIn(content).join('');
        const named = [...content, ...types].map(({ type }) => type).join('');
        const bytes = Buffer.byteLength(strings) - Buffer.byteLength(named);
        if (bytes > strings.length) wide += 1;
        expect(tokensAtMost(content)).toBeGreaterThanOrEqual(bytes + length);
      }),
      { numRuns: 500 },
    );
    expect(wide).toBeGreaterThan(100);
  });

  it('counts the bytes of a long id too', () => {
    expect(tokensAtMost([errorResult('€'.repeat(100), '')])).toBeGreaterThan(300);
  });

  it('grows with every block, and is never less in parts than in whole', () => {
    fc.assert(
      fc.property(fc.array(anyBlock), fc.array(anyBlock), (a, b) => {
        expect(tokensAtMost([...a, ...b])).toBeLessThanOrEqual(tokensAtMost(a) + tokensAtMost(b));
        expect(tokensAtMost([...a, text('')])).toBeGreaterThan(tokensAtMost(a));
      }),
    );
  });

  it('counts a picture by what the API may make of it, not by its base64 text', () => {
    const data = 'A'.repeat(1_000_000);
    const image: ContentBlock = { type: 'image', source: { type: 'base64', data } };
    expect(tokensAtMost([image])).toBeLessThan(10_000);
    expect(tokensAtMost([image])).toBeGreaterThan(5_000);
  });
});
