import { describe, expect, it } from 'vitest';
import { billOf, mostRatio } from '../../bench/bill/bill.ts';
import {
  billedUsage,
  inputTokensOf,
  keepsPrefix,
  leastUsage,
  uncachedUsage,
} from '../../bench/bill/cache-bill.ts';
import { type Played, playRuns } from '../../bench/bill/play-runs.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { Usage } from '../../src/core/reply.ts';

const emptyBlockBytes = '{"type":"text","text":""}'.length;

/** A block of so many tokens, made of one letter. */
const sized = (tokens: number, letter = 'x'): JsonObject => ({
  type: 'text',
  text: letter.repeat(tokens * 4 - emptyBlockBytes),
});
const marked = (block: JsonObject): JsonObject => ({
  ...block,
  cache_control: { type: 'ephemeral' },
});
const markedLong = (block: JsonObject): JsonObject => ({
  ...block,
  cache_control: { type: 'ephemeral', ttl: '1h' },
});

/** A request with one message. */
const asks = (content: readonly JsonObject[], rest: JsonObject = {}): JsonObject => ({
  ...rest,
  messages: [{ role: 'user', content }],
});
const many = (count: number): readonly JsonObject[] =>
  Array.from({ length: count }, () => sized(10, 'm'));

/** Tokens as they are billed: neither, read, written, and of these for an hour. */
const numbers = (usages: readonly Usage[]): readonly (readonly number[])[] =>
  usages.map(({ inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens }) => [
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWriteLongTokens,
  ]);

const tools = [sized(2_000, 't')];
const markedTools = tools.map(marked);
const changedTools = [marked({ ...sized(2_000, 't'), text: `T${sized(2_000, 't').text}` })];

describe('the bill of a prompt cache', () => {
  it.each<[string, readonly JsonObject[], readonly (readonly number[])[]]>([
    ['nothing is cached without a mark', [asks([sized(2_000)])], [[2_000, 0, 0, 0]]],
    [
      'what a mark wrote is read by the same bytes, and what follows the mark is neither',
      [asks([sized(30)], { tools: markedTools }), asks([sized(50, 'y')], { tools: markedTools })],
      [
        [30, 0, 2_000, 0],
        [50, 2_000, 0, 0],
      ],
    ],
    [
      'a mark that has moved on finds the entry before it',
      [asks([marked(sized(2_000))]), asks([sized(2_000), sized(40), marked(sized(60))])],
      [
        [0, 0, 2_000, 0],
        [0, 2_000, 100, 0],
      ],
    ],
    [
      'a changed byte in the tools loses all that follows them',
      [
        asks([marked(sized(2_000))], { tools: markedTools }),
        asks([marked(sized(2_000))], { tools: changedTools }),
      ],
      [
        [0, 0, 4_000, 0],
        [0, 0, 4_000.25, 0],
      ],
    ],
    [
      'a changed message leaves system and tools',
      [
        asks([marked(sized(2_000, 'a'))], {
          tools: markedTools,
          system: [marked(sized(500, 's'))],
        }),
        asks([marked(sized(2_000, 'b'))], {
          tools: markedTools,
          system: [marked(sized(500, 's'))],
        }),
      ],
      [
        [0, 0, 4_500, 0],
        [0, 2_500, 2_000, 0],
      ],
    ],
    [
      'another tool choice loses the messages and leaves the tools',
      [
        asks([marked(sized(2_000))], { tools: markedTools }),
        asks([marked(sized(2_000))], { tools: markedTools, tool_choice: { type: 'none' } }),
      ],
      [
        [0, 0, 4_000, 0],
        [0, 2_000, 2_000, 0],
      ],
    ],
    [
      'twenty blocks further on the entry is still found',
      [asks([marked(sized(2_000))]), asks([sized(2_000), ...many(19), marked(sized(10, 'm'))])],
      [
        [0, 0, 2_000, 0],
        [0, 2_000, 200, 0],
      ],
    ],
    [
      'twenty-one blocks further on it is not',
      [asks([marked(sized(2_000))]), asks([sized(2_000), ...many(20), marked(sized(10, 'm'))])],
      [
        [0, 0, 2_000, 0],
        [0, 0, 2_210, 0],
      ],
    ],
    [
      'unless another mark stays where the entry ends',
      [
        asks([marked(sized(2_000))]),
        asks([marked(sized(2_000)), ...many(20), marked(sized(10, 'm'))]),
      ],
      [
        [0, 0, 2_000, 0],
        [0, 2_000, 210, 0],
      ],
    ],
    [
      'less than 1,024 tokens are not cached',
      [asks([marked(sized(1_023))]), asks([marked(sized(1_023))])],
      [
        [1_023, 0, 0, 0],
        [1_023, 0, 0, 0],
      ],
    ],
    [
      '1,024 are, all parts of the request together',
      [
        asks([marked(sized(1_000))], { system: [sized(24)] }),
        asks([marked(sized(1_000))], { system: [sized(24)] }),
      ],
      [
        [0, 0, 1_024, 0],
        [0, 1_024, 0, 0],
      ],
    ],
    [
      'of two lifetimes each is billed up to its last mark',
      [
        asks([marked(sized(100))], { tools: [markedLong(sized(2_000))] }),
        asks([markedLong(sized(100)), marked(sized(50))], { tools: [markedLong(sized(2_000))] }),
      ],
      [
        [0, 0, 2_100, 2_000],
        [0, 2_100, 50, 0],
      ],
    ],
    [
      'a mark on the request as a whole stands for its last block',
      [asks([sized(2_000)], { cache_control: { type: 'ephemeral' } })],
      [[0, 0, 2_000, 0]],
    ],
    [
      'four marks are taken, and the longest entry counts',
      [
        asks([marked(sized(10, 'a')), marked(sized(20, 'b'))], {
          tools: markedTools,
          system: [marked(sized(500))],
        }),
        asks([marked(sized(10, 'a')), marked(sized(99, 'c'))], {
          tools: markedTools,
          system: [marked(sized(500))],
        }),
      ],
      [
        [0, 0, 2_530, 0],
        [0, 2_510, 99, 0],
      ],
    ],
  ])('%s', (_name, bodies, expected) => {
    expect(numbers(billedUsage(bodies))).toEqual(expected);
  });

  it('refuses a fifth mark, as the API does', () => {
    const five = Array.from({ length: 5 }, () => marked(sized(10)));
    expect(() => billedUsage([asks(five)])).toThrow('5 marks, 4 at most');
  });

  it('counts a token for four bytes of JSON, marks left out', () => {
    const body = asks([marked(sized(10)), { type: 'text', text: 'ä' }], { system: 'Be kind.' });
    expect(inputTokensOf(body)).toBe(10 + (emptyBlockBytes + 2 + emptyBlockBytes + 8) / 4);
  });

  it('is at least one write of each token, reads after that, and a last request that writes nothing', () => {
    const growing = [
      asks([sized(100)]),
      asks([sized(100), sized(50)]),
      asks([sized(100), sized(50), sized(25)]),
    ];
    expect(numbers(leastUsage(growing, '5m'))).toEqual([
      [0, 0, 100, 0],
      [0, 100, 50, 0],
      [25, 150, 0, 0],
    ]);
    expect(numbers(leastUsage(growing.slice(0, 2), '1h'))).toEqual([
      [0, 0, 100, 100],
      [50, 100, 0, 0],
    ]);
  });

  it('is at least a read of what requests have in common, where their messages differ from the first on', () => {
    const fresh = ['a', 'b', 'c'].map((letter) => asks([sized(10, letter)], { tools }));
    expect(numbers(leastUsage(fresh, '5m'))).toEqual([
      [10, 0, 2_000, 0],
      [10, 2_000, 0, 0],
      [10, 2_000, 0, 0],
    ]);
  });

  it('is all input at its full price without a cache', () => {
    expect(numbers(uncachedUsage([100, 150]))).toEqual([
      [100, 0, 0, 0],
      [150, 0, 0, 0],
    ]);
  });
});

describe('what Pawl sends', () => {
  const without = (part: 'system' | 'tools', { play, runs }: Played): Played => ({
    play,
    runs: runs.map((bodies) =>
      bodies.map((body) => {
        const list = body[part] as readonly JsonObject[];
        return { ...body, [part]: list.map(({ cache_control: _, ...block }) => block) };
      }),
    ),
  });

  it.each([
    ['prompt', 'system'],
    ['system', 'tools'],
  ] as const)(
    'is cached in runs with another %s, and would not be without the mark on the %s',
    async (change, part) => {
      const played = await playRuns({
        model: 'claude-sonnet-5-5',
        caching: '5m',
        turns: 5,
        toolsPerTurn: 2,
        otherRuns: { count: 1, change },
      });
      const { ratio, isPrefixKept } = billOf(played);
      expect(isPrefixKept).toBe(true);
      expect(ratio).toBeLessThanOrEqual(mostRatio);
      expect(billOf(without(part, played)).ratio).toBeGreaterThan(mostRatio);
      const [first] = played.runs[1] ?? [];
      expect(first?.[part]).toEqual(played.runs[0]?.[0]?.[part]);
    },
  );
});

describe('a kept prefix', () => {
  const first = asks([sized(10)], { tools });
  it.each<[string, readonly JsonObject[], boolean]>([
    ['a growing message', [first, asks([sized(10), sized(20)], { tools })], true],
    [
      'marks that move',
      [first, asks([sized(10), marked(sized(20))], { tools: markedTools })],
      true,
    ],
    ['a changed tool', [first, asks([sized(10), sized(20)], { tools: changedTools })], false],
    ['a changed block', [first, asks([sized(10, 'y'), sized(20)], { tools })], false],
    ['a message that is gone', [asks([sized(10), sized(20)], { tools }), first], false],
  ])('%s', (_name, bodies, expected) => {
    expect(keepsPrefix(bodies)).toBe(expected);
  });
});
