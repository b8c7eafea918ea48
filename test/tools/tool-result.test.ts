import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentBlock, ToolResult } from '../../src/core/message.ts';
import { toolOutput } from '../../src/tools/tool.ts';
import { failureOf, resultOf, timeoutResult } from '../../src/tools/tool-result.ts';

const roomy = { maxChars: 10_000 };
const image = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'AA==' },
} as const;
const text = (value: string): ContentBlock => ({ type: 'text', text: value });

const contentOf = (output: unknown, limit = roomy): ToolResult['content'] =>
  resultOf('t1', output, limit).result.content;

/** As an untyped tool would: with content of any kind. */
const untyped = (fields: object) =>
  Reflect.apply(toolOutput, undefined, [fields]) as ReturnType<typeof toolOutput>;

function charsIn(content: ToolResult['content']): number {
  if (typeof content === 'string') return content.length;
  return content.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0);
}

describe('resultOf', () => {
  it.each<[string, unknown, string]>([
    ['text', 'sunny', 'sunny'],
    ['nothing', undefined, ''],
    ['JSON', { a: [1] }, '{"a":[1]}'],
    ['a lone surrogate', 'a\ud800b', 'a\ufffdb'],
    ['a lone surrogate in JSON', { a: '\ud800' }, '{"a":"\ufffd"}'],
    [
      'a look-alike of a tool output',
      { content: 'x', isError: true, costUsd: 1 },
      '{"content":"x","isError":true,"costUsd":1}',
    ],
    ['text in a tool output', toolOutput({ content: 'a\udc00' }), 'a\ufffd'],
    ['no blocks', toolOutput({ content: [] }), ''],
    ['blank blocks', toolOutput({ content: [text(''), text(' \n')] }), ''],
    ['no content', untyped({ content: undefined }), ''],
    ['content of a wrong type', untyped({ content: { a: 1 } }), '{"a":1}'],
  ])('takes %s', (_name, output, expected) => {
    expect(resultOf('t1', output, roomy)).toEqual({
      result: { type: 'tool_result', tool_use_id: 't1', content: expected },
      costMicros: 0,
    });
  });

  it('keeps blocks in order, drops blank ones and makes text well-formed', () => {
    const content = [text('a\ud800'), image, text('  '), text('b')];
    expect(contentOf(toolOutput({ content }))).toEqual([text('a\ufffd'), image, text('b')]);
  });

  it.each<[string, unknown, string]>([
    ['a thinking block', { type: 'thinking', thinking: 'x', signature: 's' }, '"type":"thinking"'],
    ['a tool use', { type: 'tool_use', id: 'i', name: 'rm', input: {} }, '"type":"tool_use"'],
    ['another tool result', { type: 'tool_result', tool_use_id: 't0', content: '' }, 't0'],
    ['a type of Object.prototype', { type: 'constructor' }, 'constructor'],
    ['a text block without text', { type: 'text', text: 5 }, '"text":5'],
    ['an image that is not JSON', { type: 'image', size: 1n }, 'image'],
    ['a bare string', 'bare', 'bare'],
    [
      'a block that throws',
      {
        get type() {
          throw new Error('trap');
        },
      },
      'trap',
    ],
  ])('shows %s as text', (_name, block, expected) => {
    const [shown] = contentOf(untyped({ content: [block, image] }));
    expect(shown).toEqual(text(expect.stringContaining(expected)));
  });

  it('copies other blocks, with well-formed text in them', () => {
    const block = { type: 'document', title: 'a\ud800', source: { type: 'text', data: 'x' } };
    const content = contentOf(untyped({ content: [block] }));
    block.source.data = 'changed later';
    expect(content).toEqual([
      { type: 'document', title: 'a\ufffd', source: { type: 'text', data: 'x' } },
    ]);
  });

  it('sends only what the API takes in a text block', () => {
    const block = { type: 'text', text: 'a', annotations: {}, cache_control: {} };
    expect(contentOf(untyped({ content: [block] }))).toEqual([text('a')]);
  });

  it('shortens the long texts and leaves the short ones whole', () => {
    const content = [
      text('start'),
      text('x'.repeat(5_000)),
      image,
      text('y'.repeat(9_000)),
      text('end'),
    ];
    const limited = contentOf(toolOutput({ content }), { maxChars: 1_000 });
    expect(charsIn(limited)).toBeLessThanOrEqual(1_000);
    expect(charsIn(limited)).toBeGreaterThan(900);
    expect([limited.at(0), limited.at(2), limited.at(4)]).toEqual([
      text('start'),
      image,
      text('end'),
    ]);
    expect(limited.at(1)).toEqual(text(expect.stringContaining('characters omitted')));
  });

  it.each<[string, Parameters<typeof toolOutput>[0], string]>([
    ['keeps its text', { content: 'no disk' }, 'no disk'],
    ['joins its text blocks', { content: [text('no'), text(' '), text('disk')] }, 'no\ndisk'],
    [
      'names blocks that are not text',
      { content: [text('no disk'), image] },
      'no disk\n[Left out, as an error is text only: image]',
    ],
    ['says something when it is empty', { content: '' }, 'The tool failed without saying why.'],
    [
      'says something when it is blank',
      { content: [text('\n')] },
      'The tool failed without saying why.',
    ],
    [
      'says something beside blocks',
      { content: [image] },
      'The tool failed without saying why.\n[Left out, as an error is text only: image]',
    ],
  ])('of an error %s', (_name, output, expected) => {
    expect(resultOf('t1', toolOutput({ ...output, isError: true }), roomy).result).toEqual({
      type: 'tool_result',
      tool_use_id: 't1',
      content: expected,
      is_error: true,
    });
  });

  it.each([
    [0, 0],
    [0.25, 250_000],
    [0.1 + 0.2, 300_000],
    [-1, 0],
    [Number.NaN, 0],
    [Infinity, 1_000_000_000_000],
    ['1', 0],
  ])('counts a cost of %s dollars as %i micros', (costUsd, expected) => {
    expect(resultOf('t1', untyped({ content: 'x', costUsd }), roomy).costMicros).toBe(expected);
    const isError = true;
    expect(resultOf('t1', untyped({ content: [], costUsd, isError }), roomy).costMicros).toBe(
      expected,
    );
  });

  it('answers also when what came back cannot be looked at', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const { result } = resultOf('t1', proxy, roomy);
    expect(result).toMatchObject({ tool_use_id: 't1', is_error: true });
  });

  it('never throws, keeps to the limit and is well-formed, whatever comes', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
    });
    const block = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }).map(text),
      fc.constant(image),
      anything,
    );
    const output = fc.oneof(
      anything,
      fc
        .record({
          content: fc.oneof(fc.array(block), anything),
          isError: fc.boolean(),
          costUsd: fc.double(),
        })
        .map(untyped),
    );
    fc.assert(
      fc.property(output, fc.integer({ min: 50, max: 400 }), (value, maxChars) => {
        const { result, costMicros } = resultOf('t1', value, { maxChars });
        expect(Number.isSafeInteger(costMicros) && costMicros >= 0).toBe(true);
        expect(charsIn(result.content)).toBeLessThanOrEqual(maxChars);
        if (result.is_error) expect(String(result.content).trim()).not.toBe('');
        if (typeof result.content === 'string') {
          expect(result.content).not.toMatch(/\p{Surrogate}/u);
          return;
        }
        expect(result.content.length).toBeGreaterThan(0);
        for (const shown of result.content) {
          if (shown.type === 'text') expect(shown.text.trim()).not.toBe('');
          expect(JSON.parse(JSON.stringify(shown))).toEqual(shown);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('failureOf', () => {
  it.each<[unknown, string]>([
    [new Error('no disk'), 'no disk'],
    [new TypeError('bad'), 'TypeError: bad'],
    [new Error(''), 'Error'],
    ['', 'Threw an empty value'],
    [undefined, 'Threw undefined'],
    [{ code: 5 }, '{"code":5}'],
    [new Error('a\ud800'), 'a\ufffd'],
  ])('says of %s: %s', (thrown, expected) => {
    expect(failureOf('t1', thrown, roomy)).toEqual({
      type: 'tool_result',
      tool_use_id: 't1',
      content: expected,
      is_error: true,
    });
  });

  it('is limited, and not blank even when the limit leaves nothing', () => {
    const huge = new Error('x'.repeat(1_000_000));
    expect(failureOf('t1', huge, { maxChars: 500 }).content.length).toBeLessThanOrEqual(500);
    expect(failureOf('t1', huge, { maxChars: 0 }).content).toBe(
      'The tool failed without saying why.',
    );
  });
});

describe('timeoutResult', () => {
  it.each(['read', 'idempotent'] as const)('of a %s tool says how long it took', (effect) => {
    expect(timeoutResult('t1', 'fetch', 5_000, effect)).toEqual({
      type: 'tool_result',
      tool_use_id: 't1',
      content: 'The tool "fetch" timed out after 5000 ms.',
      is_error: true,
    });
  });

  it('of a once tool warns that it may have taken effect', () => {
    const { content } = timeoutResult('t1', 'send_mail', 5_000, 'once');
    expect(content).toContain('timed out after 5000 ms');
    expect(content).toContain('stopped before its result was known');
    expect(content).toContain('may have taken effect');
  });
});
