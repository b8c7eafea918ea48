import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  historyProblems,
  mergeNeighbours,
  repairHistory,
  requestHistory,
} from '../../src/core/history.ts';
import {
  type ContentBlock,
  errorResult,
  type Message,
  type OtherBlock,
  type ToolResult,
  text,
} from '../../src/core/message.ts';
import { requestProblems } from '../../src/testing/request-rules.ts';

const user = (...content: ContentBlock[]): Message => ({ role: 'user', content });
const assistant = (...content: ContentBlock[]): Message => ({ role: 'assistant', content });
const use = (id: string): ContentBlock => ({ type: 'tool_use', id, name: 'search', input: {} });
const result = (id: string, content: ToolResult['content'] = 'found'): ToolResult => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
const thinking = (thought: string, signature = 'signed'): ContentBlock => ({
  type: 'thinking',
  thinking: thought,
  signature,
});
const search = (id: string): OtherBlock => ({
  type: 'server_tool_use',
  id,
  name: 'web_search',
  input: {},
});
const searched = (id: string): OtherBlock => ({
  type: 'web_search_tool_result',
  tool_use_id: id,
  content: [],
});
const image: OtherBlock = { type: 'image', source: { type: 'url', url: 'https://a.test/a.png' } };
const unanswered = (id: string) =>
  errorResult(id, 'Not executed: the run stopped before this call was answered.');

/** What the API would say, by rules that were written apart from ours. */
const apiProblems = (messages: readonly Message[]): readonly string[] =>
  requestProblems({
    model: 'claude',
    max_tokens: 1,
    messages,
    tools: [{ name: 'search', input_schema: { type: 'object' } }],
  }).filter(
    (problem) =>
      !/the first must be|must be a list of at least one|unless it was paused/.test(problem),
  );

/** An assistant-first history can't be mended: nobody knows what was asked. */
const problemsOf = (messages: readonly Message[]) =>
  historyProblems(messages).filter(({ problem }) => !problem.startsWith('the first message'));

describe('repairHistory', () => {
  it.each<[string, Message[], Message[]]>([
    ['nothing', [], []],
    [
      'neighbours of one role: merged',
      [user(text('a')), user(text('b'))],
      [user(text('a'), text('b'))],
    ],
    [
      'blank texts and unsigned thinking: dropped, with what they leave empty',
      [user(text('a')), assistant(text(' \n'), thinking('hm', '')), user(text('b'), text(''))],
      [user(text('a'), text('b'))],
    ],
    [
      'signed thinking without a text: kept',
      [user(text('a')), assistant(thinking(''), text('b'))],
      [user(text('a')), assistant(thinking(''), text('b'))],
    ],
    [
      'lone surrogates in texts, inputs and keys: replaced',
      [user(text('a\ud800')), assistant({ ...use('1'), input: { '\udc00': ['\ud83d'] } } as never)],
      [
        user(text('a\ufffd')),
        assistant({ ...use('1'), input: { '\ufffd': ['\ufffd'] } } as never),
        user(unanswered('1')),
      ],
    ],
    [
      'a tool use at the end: answered',
      [user(text('a')), assistant(use('1'), use('2'))],
      [user(text('a')), assistant(use('1'), use('2')), user(unanswered('1'), unanswered('2'))],
    ],
    [
      'a missing result: added in the order of the uses',
      [user(text('a')), assistant(use('1'), use('2')), user(result('2'), text('b'))],
      [
        user(text('a')),
        assistant(use('1'), use('2')),
        user(unanswered('1'), result('2'), text('b')),
      ],
    ],
    [
      'results in two messages, and after a text: first, and together',
      [
        user(text('a')),
        assistant(use('1'), use('2')),
        user(text('b'), result('1')),
        user(result('2')),
      ],
      [user(text('a')), assistant(use('1'), use('2')), user(result('1'), result('2'), text('b'))],
    ],
    [
      'a result of no use: dropped, with the message that held nothing else',
      [user(text('a')), assistant(text('b')), user(result('1')), assistant(text('c'))],
      [user(text('a')), assistant(text('b'), text('c'))],
    ],
    [
      'two results of one use: the first counts',
      [user(text('a')), assistant(use('1')), user(result('1', 'x'), result('1', 'y'))],
      [user(text('a')), assistant(use('1')), user(result('1', 'x'))],
    ],
    [
      'two uses of one id: told apart, each with its result',
      [user(text('a')), assistant(use('1'), use('1')), user(result('1', 'x'), result('1', 'y'))],
      [
        user(text('a')),
        assistant(use('1'), use('1_2')),
        user(result('1', 'x'), result('1_2', 'y')),
      ],
    ],
    [
      'an id that comes again in a later turn: told apart',
      [
        user(text('a')),
        assistant(use('call_0')),
        user(result('call_0', 'x')),
        assistant(use('call_0')),
        user(result('call_0', 'y')),
      ],
      [
        user(text('a')),
        assistant(use('call_0')),
        user(result('call_0', 'x')),
        assistant(use('call_0_2')),
        user(result('call_0_2', 'y')),
      ],
    ],
    [
      'pictures of an error: after all results',
      [
        user(text('a')),
        assistant(use('1'), use('2')),
        user({ ...result('1', [text('broke'), image]), is_error: true }, result('2'), text('b')),
      ],
      [
        user(text('a')),
        assistant(use('1'), use('2')),
        user({ ...result('1', [text('broke')]), is_error: true }, result('2'), image, text('b')),
      ],
    ],
    [
      'an error that says nothing: said',
      [
        user(text('a')),
        assistant(use('1'), use('2'), use('3')),
        user(
          errorResult('1', ' '),
          { ...result('2', [text(' ')]), is_error: true },
          { ...result('3', []), is_error: true },
        ),
      ],
      [
        user(text('a')),
        assistant(use('1'), use('2'), use('3')),
        user(
          errorResult('1', 'The call failed.'),
          { ...result('2', [text('The call failed.')]), is_error: true },
          { ...result('3', [text('The call failed.')]), is_error: true },
        ),
      ],
    ],
    [
      'what no result may hold: dropped from it',
      [
        user(text('a')),
        assistant(use('1'), use('2')),
        user(result('1', [text(' '), image, result('x'), thinking('y')]), {
          ...result('2', [text('broke'), result('x'), thinking('y')]),
          is_error: true,
        }),
      ],
      [
        user(text('a')),
        assistant(use('1'), use('2')),
        user(result('1', [image]), { ...result('2', [text('broke')]), is_error: true }),
      ],
    ],
    [
      'blocks of the other role: dropped',
      [user(text('a'), use('1'), thinking('x'), searched('s')), assistant(result('1'), text('b'))],
      [user(text('a')), assistant(text('b'))],
    ],
    [
      'a server-side call that is still open at the end: kept, the model goes on with it',
      [user(text('a')), assistant(search('s'))],
      [user(text('a')), assistant(search('s'))],
    ],
    [
      'a server-side call that was put off for our own tools: kept while only results follow',
      [user(text('a')), assistant(search('s'), use('1')), user(result('1'))],
      [user(text('a')), assistant(search('s'), use('1')), user(result('1'))],
    ],
    [
      'its result in a later message of the same turn: kept',
      [
        user(text('a')),
        assistant(search('s'), use('1')),
        user(result('1')),
        assistant(searched('s'), text('b')),
        user(text('c')),
      ],
      [
        user(text('a')),
        assistant(search('s'), use('1')),
        user(result('1')),
        assistant(searched('s'), text('b')),
        user(text('c')),
      ],
    ],
    [
      'a server-side call that a user broke off: dropped',
      [user(text('a')), assistant(text('b'), search('s')), user(text('c'))],
      [user(text('a')), assistant(text('b')), user(text('c'))],
    ],
    [
      'a server-side call put off, then broken off by a text after the results: dropped',
      [user(text('a')), assistant(search('s'), use('1')), user(result('1'), text('stop'))],
      [user(text('a')), assistant(use('1')), user(result('1'), text('stop'))],
    ],
    [
      'a server-side result without its call: dropped',
      [user(text('a')), assistant(searched('s'), text('b'))],
      [user(text('a')), assistant(text('b'))],
    ],
    [
      'a message of nothing but a broken-off call: gone, its neighbours merged',
      [user(text('a')), assistant(search('s')), user(text('b'))],
      [user(text('a'), text('b'))],
    ],
  ])('%s', (_, messages, expected) => {
    expect(repairHistory(messages)).toEqual(expected);
    expect(historyProblems(expected)).toEqual([]);
  });
});

describe('requestHistory', () => {
  const made = (model: string): ContentBlock => ({ ...thinking(`of ${model}`), model }) as never;
  it.each<[string, Message[], Message[]]>([
    [
      'messages paused in a row: as they were paused, while nobody has said anything since',
      [user(text('a')), assistant(search('s')), assistant(searched('s'), search('t'))],
      [user(text('a')), assistant(search('s')), assistant(searched('s'), search('t'))],
    ],
    [
      'messages paused in a row, and a question: merged',
      [user(text('a')), assistant(text('b')), assistant(text('c')), user(text('d'))],
      [user(text('a')), assistant(text('b'), text('c')), user(text('d'))],
    ],
    [
      'paused messages with a tool use: merged, and answered',
      [user(text('a')), assistant(use('1')), assistant(text('b'))],
      [user(text('a')), assistant(use('1'), text('b')), user(unanswered('1'))],
    ],
    [
      'thinking of the model and of nobody: kept, without the name',
      [user(text('a')), assistant(made('this'), thinking('old'), text('b')), user(text('c'))],
      [
        user(text('a')),
        assistant(thinking('of this'), thinking('old'), text('b')),
        user(text('c')),
      ],
    ],
    [
      'thinking of another model: dropped, with the message that held nothing else',
      [
        user(text('a')),
        assistant(made('that'), use('1')),
        user(result('1')),
        assistant({ type: 'redacted_thinking', data: 'x', model: 'that' }),
        user(text('b')),
      ],
      [user(text('a')), assistant(use('1')), user(result('1'), text('b'))],
    ],
  ])('%s', (_name, messages, expected) => {
    expect(requestHistory(messages, 'this')).toEqual(expected);
    expect(requestHistory(requestHistory(messages, 'this'), 'this')).toEqual(expected);
  });

  it('names no model, though what it repairs for a person does', () => {
    const messages = [user(text('a')), assistant(made('this'), text('b'))];
    expect(repairHistory(messages)).toEqual(messages);
    expect(JSON.stringify(requestHistory(messages, 'this'))).not.toContain('"model"');
  });
});

describe('historyProblems', () => {
  it.each<[string, Message[], string]>([
    ['an assistant first', [assistant(text('a'))], 'not from the user'],
    ['no content', [user()], 'no content'],
    ['a blank text', [user(text(' '))], 'blank text'],
    ['unsigned thinking', [user(text('a')), assistant(thinking('x', ''))], 'unsigned thinking'],
    ['neighbours of one role', [user(text('a')), user(text('b'))], 'another message of role user'],
    ['an open tool use at the end', [user(text('a')), assistant(use('1'))], '"1" is not answered'],
    [
      'an open tool use',
      [user(text('a')), assistant(use('1')), user(text('b'))],
      '"1" is not answered',
    ],
    ['an orphan', [user(result('1'))], 'answers no tool use'],
    [
      'two results',
      [user(text('a')), assistant(use('1')), user(result('1'), result('1'))],
      'two results',
    ],
    [
      'a late result',
      [user(text('a')), assistant(use('1')), user(text('b'), result('1'))],
      'not come first',
    ],
    [
      'one id twice',
      [user(text('a')), assistant(use('1'), use('1')), user(result('1'))],
      'names two tool uses',
    ],
    ['an illegal id', [user(text('a')), assistant(use('ä')), user(result('ä'))], 'not legal'],
    [
      'a picture in an error',
      [user(text('a')), assistant(use('1')), user({ ...result('1', [image]), is_error: true })],
      'no result may hold',
    ],
    [
      'a blank error',
      [user(text('a')), assistant(use('1')), user(errorResult('1', ''))],
      'no result may hold',
    ],
    ['a tool use of the user', [user(use('1'))], 'role user may not send'],
    [
      'a result of the assistant',
      [user(text('a')), assistant(result('1'))],
      'role assistant may not send',
    ],
    [
      'a broken-off server-side call',
      [user(text('a')), assistant(search('s'), text('b')), user(text('c'))],
      'not in one turn',
    ],
    [
      'a server-side result of no call',
      [user(text('a')), assistant(searched('s'))],
      'not in one turn',
    ],
  ])('finds %s', (_, messages, problem) => {
    const found = historyProblems(messages);
    expect(found.map((each) => each.problem).join('; ')).toContain(problem);
    expect(found.every(({ path }) => /^messages\[\d\]$/.test(path))).toBe(true);
  });
});

it('merges neighbours without loss of a block', () => {
  const messages = [
    user(text('a')),
    user(),
    assistant(use('1')),
    assistant(text('b')),
    user(text('c')),
  ];
  expect(mergeNeighbours(messages)).toEqual([
    user(text('a')),
    assistant(use('1'), text('b')),
    user(text('c')),
  ]);
});

const anyId = fc.constantFrom('a', 'b', 'a_2', '__proto__', 'constructor', 'x y', '');
const anyServerId = fc.constantFrom('s', 'a', '__proto__', 'constructor');
const anyText = fc.constantFrom('', ' \n', 'said', '__proto__').map(text);
const anyThinking = fc
  .tuple(fc.constantFrom('', 'hm', 'so'), fc.constantFrom('', 'sig1', 'sig2'))
  .map(([thought, signature]) => thinking(thought, signature));
const anyResult: fc.Arbitrary<ContentBlock> = fc
  .record({
    id: anyId,
    content: fc.oneof(
      fc.constantFrom('', ' ', 'found'),
      fc.array(fc.oneof(anyText, anyThinking, fc.constantFrom(image, result('a'), use('b')))),
    ),
    isError: fc.boolean(),
  })
  .map(({ id, content, isError }) => ({
    ...result(id, content),
    ...(isError && { is_error: true as const }),
  }));
const anyBlock: fc.Arbitrary<ContentBlock> = fc.oneof(
  anyText,
  anyThinking,
  anyId.map(use),
  anyResult,
  anyServerId.map(search),
  anyServerId.map(searched),
  fc.constantFrom<ContentBlock>(image, { type: 'redacted_thinking', data: 'x' }),
);
const anyMessage: fc.Arbitrary<Message> = fc.record({
  role: fc.constantFrom('user', 'assistant'),
  content: fc.array(anyBlock, { maxLength: 6 }),
});
const anyHistory = fc.array(anyMessage, { maxLength: 10 });
const runs = { numRuns: 3_000 };

describe('repairHistory, of any list of messages', () => {
  it('gives a history without problems, by our rules and by those of the test server', () => {
    let broken = 0;
    let withUses = 0;
    fc.assert(
      fc.property(anyHistory, (messages) => {
        if (problemsOf(messages).length > 0) broken += 1;
        const repaired = repairHistory(messages);
        if (JSON.stringify(repaired).includes('"tool_use"')) withUses += 1;
        expect(problemsOf(repaired)).toEqual([]);
        expect(apiProblems(repaired)).toEqual([]);
      }),
      runs,
    );
    expect(broken).toBeGreaterThan(1_000);
    expect(withUses).toBeGreaterThan(500);
  });

  it('changes nothing that it has repaired, and says the same each time', () => {
    let changed = 0;
    fc.assert(
      fc.property(anyHistory, (messages) => {
        const before = JSON.stringify(messages);
        const repaired = repairHistory(messages);
        expect(repairHistory(repaired)).toEqual(repaired);
        expect(JSON.stringify(repairHistory(JSON.parse(before)))).toBe(JSON.stringify(repaired));
        expect(JSON.stringify(messages)).toBe(before);
        if (JSON.stringify(repaired) !== before) changed += 1;
      }),
      runs,
    );
    expect(changed).toBeGreaterThan(1_000);
  });

  it('keeps all signed thinking of the model, unchanged and in order', () => {
    let kept = 0;
    const signed = (messages: readonly Message[]) =>
      messages
        .filter(({ role }) => role === 'assistant')
        .flatMap(({ content }) => content)
        .filter(
          (block) =>
            block.type === 'redacted_thinking' ||
            (block.type === 'thinking' && block.signature !== ''),
        );
    fc.assert(
      fc.property(anyHistory, (messages) => {
        const expected = signed(messages);
        kept += expected.length;
        expect(signed(repairHistory(messages))).toEqual(expected);
      }),
      runs,
    );
    expect(kept).toBeGreaterThan(1_000);
  });
});

interface Turn {
  readonly uses: number;
  readonly thinks: boolean;
  readonly says: boolean;
  readonly searches: 'no' | 'at once' | 'later' | 'after a pause';
  readonly isError: boolean;
  readonly steers: boolean;
  readonly asks: boolean;
}

const anyTurn: fc.Arbitrary<Turn> = fc.record({
  uses: fc.nat(3),
  thinks: fc.boolean(),
  says: fc.boolean(),
  searches: fc.constantFrom('no', 'at once', 'later', 'after a pause'),
  isError: fc.boolean(),
  steers: fc.boolean(),
  asks: fc.boolean(),
});

/** What a run appends in one turn, message by message; the transcript is sendable after each of the last kind. */
function messagesOf(
  turn: Turn,
  number: number,
): { readonly messages: Message[]; readonly isCall: boolean }[] {
  const ids = Array.from({ length: turn.uses }, (_, index) => `call_${number}_${index}`);
  const server = `search_${number}`;
  const isLater = turn.searches === 'later' && turn.uses > 0;
  const head = [
    ...(turn.thinks ? [thinking(`thought ${number}`)] : []),
    ...(turn.says ? [text(`said ${number}`)] : []),
  ];
  const paused = turn.searches === 'after a pause' ? [[...head, search(server)]] : [];
  const rest = [
    ...(paused.length > 0 ? [searched(server)] : head),
    ...(turn.searches === 'at once' ? [search(server), searched(server)] : []),
    ...(isLater ? [search(server)] : []),
    ...ids.map(use),
  ];
  const results = ids.map((id) =>
    turn.isError ? errorResult(id, `failed ${id}`) : result(id, `found ${id}`),
  );
  const asked = turn.asks || turn.uses === 0;
  return [
    ...paused.map((content) => ({ messages: [assistant(...content)], isCall: true })),
    { messages: rest.length > 0 ? [assistant(...rest)] : [], isCall: false },
    ...(results.length > 0 ? [{ messages: [user(...results)], isCall: isLater || !asked }] : []),
    ...(isLater ? [{ messages: [assistant(searched(server), text('so'))], isCall: false }] : []),
    ...(asked || isLater || turn.steers
      ? [{ messages: [user(text(`then ${number}`))], isCall: true }]
      : []),
  ];
}

const anyTranscript = fc
  .array(anyTurn, { maxLength: 8 })
  .map((turns) => [
    { messages: [user(text('begin'))], isCall: true },
    ...turns.flatMap(messagesOf),
  ]);

describe('repairHistory, of a transcript as a run writes it', () => {
  it('leaves a valid one as it is', () => {
    let long = 0;
    fc.assert(
      fc.property(anyTranscript, (steps) => {
        const messages = mergeNeighbours(steps.flatMap((step) => step.messages));
        fc.pre(historyProblems(messages).length === 0);
        if (messages.length > 4) long += 1;
        expect(repairHistory(messages)).toEqual(messages);
        expect(JSON.stringify(repairHistory(messages))).toBe(JSON.stringify(messages));
      }),
      { numRuns: 1_000 },
    );
    expect(long).toBeGreaterThan(300);
  });

  it('sends the same bytes again at each call, and more after them', () => {
    let calls = 0;
    let pauses = 0;
    let putOff = 0;
    fc.assert(
      fc.property(anyTranscript, (steps) => {
        const transcript: Message[] = [];
        let sent = '';
        for (const { messages, isCall } of steps) {
          transcript.push(...messages);
          if (!isCall) continue;
          const request = JSON.stringify(repairHistory(transcript)).replace(/\]\}\]$/, '');
          expect(request.startsWith(sent)).toBe(true);
          sent = request;
          calls += 1;
          if (transcript.at(-1)?.role === 'assistant') pauses += 1;
          else if (transcript.at(-2)?.content.some(({ type }) => type === 'server_tool_use'))
            putOff += 1;
        }
      }),
      { numRuns: 1_000 },
    );
    expect(calls).toBeGreaterThan(2_000);
    expect(pauses).toBeGreaterThan(200);
    expect(putOff).toBeGreaterThan(200);
  });

  it('loses no result, however the messages around it were torn', () => {
    let torn = 0;
    const disorder = fc.array(
      fc.tuple(fc.nat(), fc.constantFrom('orphan', 'blank', 'split', 'text', 'shuffle')),
    );
    fc.assert(
      fc.property(anyTranscript, disorder, (steps, mess) => {
        const messages = steps.flatMap((step) => step.messages);
        const damaged = mess.reduce((list, [at, kind]) => tear(list, at, kind), messages);
        if (problemsOf(damaged).length > problemsOf(messages).length) torn += 1;
        expect(answersIn(repairHistory(damaged))).toEqual(answersIn(messages));
      }),
      { numRuns: 1_000 },
    );
    expect(torn).toBeGreaterThan(300);
  });
});

const answersIn = (messages: readonly Message[]) =>
  messages
    .flatMap(({ content }) => content)
    .filter((block) => block.type === 'tool_result')
    .toSorted((a, b) => (a.tool_use_id < b.tool_use_id ? -1 : 1));

/** One kind of damage, at one user message: none of it makes a result answer anything else. */
function tear(messages: readonly Message[], at: number, kind: string): Message[] {
  const places = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []));
  const place = places[at % places.length] ?? 0;
  const content = messages[place]?.content ?? [];
  const half = Math.floor(content.length / 2);
  const replaced: Message[] = {
    orphan: [user(result('nobody'), ...content, result('__proto__'))],
    blank: [user(text(' ')), user(...content, text('')), user()],
    split: [user(...content.slice(0, half)), user(...content.slice(half))],
    text: [user(text('first'), ...content)],
    shuffle: [user(...content.toReversed())],
  }[kind] ?? [user(...content)];
  return messages.toSpliced(place, 1, ...replaced);
}
