import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Limits } from '../../src/core/budget.ts';
import { admitCalls } from '../../src/core/call-steps.ts';
import { goneToolTokens } from '../../src/core/gone-tools.ts';
import { committed, limitPassedBy, nothing, reserve, reservedFor } from '../../src/core/ledger.ts';
import {
  type Message,
  text,
  tokensAtMost,
  toolUsesIn,
  userMessage,
} from '../../src/core/message.ts';
import {
  askToGoOn,
  beginModelCall,
  chargeModelCall,
  joinSteered,
  planAgain,
  releaseModelCall,
  takeReply,
  withUserBlocks,
} from '../../src/core/model-steps.ts';
import type { Price } from '../../src/core/price.ts';
import { firstAttempt, type ModelReply, noUsage, type Usage } from '../../src/core/reply.ts';
import { bytesBound, type ModelSettings, type RunContext } from '../../src/core/run-context.ts';
import { canWrapUp, inputAtMost, limitReached } from '../../src/core/spending.ts';
import { isLegalId } from '../../src/core/tool-use-ids.ts';
import { asking, reply, sampleModel, sampleRun, toolUse, unlimited } from './sample-run.ts';

type Change = Partial<RunContext>;
const step = (context: RunContext, change: Change): RunContext => ({ ...context, ...change });
const begin = (context: RunContext, kind: 'turn' | 'wrapUp' = 'turn'): RunContext =>
  step(context, beginModelCall(context, kind));
const take = (context: RunContext, answer: ModelReply): RunContext =>
  step(context, takeReply(context, answer));

describe('beginModelCall', () => {
  it('reserves the worst case and says how long the reply may be', () => {
    const context = begin(sampleRun({}, { maxOutputTokens: 700 }));
    expect(context.replyCap).toBe(700);
    expect(context.turn).toBe(1);
    expect(reservedFor(context.ledger, 'model')).toMatchObject({ turns: 1, outputTokens: 700 });
    expect(context.messages).toEqual([userMessage('hello')]);
  });

  it('puts what was steered into the transcript, and counts it', () => {
    const before = { ...sampleRun(), steered: [text('also'), text('this')] };
    const context = begin(before);
    expect(context.steered).toEqual([]);
    expect(context.messages.at(-1)).toEqual({ role: 'user', content: before.steered });
    expect(context.contextTokens).toBe(inputAtMost(before));
  });

  it('tells the model of its last answer, with what was steered', () => {
    const limit = { name: 'maxTurns', used: 3, max: 3 } as const;
    const context = begin({ ...sampleRun(), limit, steered: [text('also')] }, 'wrapUp');
    expect(context.messages.at(-1)?.content).toHaveLength(2);
    expect(JSON.stringify(context.messages.at(-1))).toContain('(maxTurns)');
    expect(context.contextTokens).toBe(bytesBound(context.settings, context.messages));
  });

  it.each([
    [1, 0, 1],
    [2, 0, 0],
    [1, 1, 0],
  ])('counts attempt %i of model %i as %i new turns', (attempt, model, turns) => {
    const context = { ...sampleRun(), plan: { ...firstAttempt, attempt, model } };
    expect(begin(context).turn).toBe(turns);
  });
});

describe('a reply taken', () => {
  it('has the name of the model that was asked on its thinking', () => {
    const models = [sampleModel, { ...sampleModel, id: 'second' }] as const;
    const plan = { ...firstAttempt, model: 1 };
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 's', model: 'forged' },
      { type: 'redacted_thinking', data: 'x' },
      text('so'),
    ] as const;
    const context = take({ ...begin(sampleRun({ models })), plan }, reply({ content }));
    expect(context.messages.at(-1)?.content).toEqual([
      { ...content[0], model: 'second' },
      { ...content[1], model: 'second' },
      text('so'),
    ]);
  });

  it('counts the definitions that its tool uses make necessary in a run without tools', () => {
    const without = take(begin(sampleRun({ tools: [] })), asking(toolUse('1', 'gone')));
    const known = take(begin(sampleRun()), asking(toolUse('1', 'gone')));
    expect(without.contextTokens - known.contextTokens).toBe(goneToolTokens(without.messages));
    const again = take(begin(without), asking(toolUse('2', 'gone')));
    expect(again.contextTokens).toBe(known.contextTokens);
  });
});

describe('a model call that gave no reply', () => {
  const called = begin({ ...sampleRun(), plan: { ...firstAttempt, attempt: 2 } });
  const reserved = committed(called.ledger);

  it('is charged whole when its outcome is not known', () => {
    const context = step(called, chargeModelCall(called));
    expect(context.ledger.uncertain).toEqual(reserved);
    expect(context.plan).toEqual(firstAttempt);
  });

  it('costs a turn and nothing else when it was not billed', () => {
    const context = step(called, releaseModelCall(called));
    expect(committed(context.ledger)).toEqual({ ...nothing, turns: 1 });
    expect(context.plan).toEqual(firstAttempt);
  });

  it.each([
    [true, { ...reserved, turns: 0 }],
    [false, nothing],
  ])('goes on with a plan, billed: %s', (mayHaveBilled, expected) => {
    const plan = { ...firstAttempt, attempt: 3, retryAt: 9 };
    const context = step(called, planAgain(called, { plan, mayHaveBilled }));
    expect(committed(context.ledger)).toEqual(expected);
    expect(context.plan).toEqual(plan);
    expect(begin(context).turn).toBe(called.turn);
  });

  it('is settled once, whatever is told afterwards', () => {
    const context = step(called, chargeModelCall(called));
    expect(chargeModelCall(context).ledger).toBe(context.ledger);
    expect(releaseModelCall(context).ledger).toBe(context.ledger);
    expect(take(context, reply()).ledger).toBe(context.ledger);
  });
});

describe('takeReply', () => {
  const called = begin(sampleRun());

  it('settles the call, keeps the message, and knows the next request from the usage', () => {
    const usage: Usage = { ...noUsage, inputTokens: 10, cacheReadTokens: 30, outputTokens: 7 };
    const context = take(called, reply({ usage, container: 'box' }));
    expect(context.messages.at(-1)).toEqual({ role: 'assistant', content: [text('hi')] });
    expect(context.contextTokens).toBe(47);
    expect(context.usage).toEqual(usage);
    expect(context.answer).toBe('hi');
    expect(context.container).toBe('box');
    expect(context.ledger.reserved).toEqual([]);
    expect(context.ledger.spent).toEqual({
      turns: 1,
      inputTokens: 40,
      outputTokens: 7,
      costMicros: 150,
    });
    expect(take(begin(context), reply()).container).toBe('box');
  });

  it('keeps every bound when the reply reports no usage: nobody gave it away for nothing', () => {
    const context = take(called, reply({ usage: noUsage }));
    expect(context.contextTokens).toBe(called.contextTokens + called.replyCap);
    expect(context.ledger.uncertain).toEqual(committed(called.ledger));
    expect(context.ledger.spent).toEqual(nothing);
    expect(context.ledger.reserved).toEqual([]);
  });

  it('knows which model counted', () => {
    const models = [sampleModel, { ...sampleModel, id: 'other' }] as const;
    const fallback = { ...sampleRun({ models }), plan: { ...firstAttempt, model: 1 } };
    expect(take(begin(fallback), reply()).countedBy).toBe(1);
    expect(take(begin(fallback), reply({ usage: noUsage })).countedBy).toBe(0);
  });

  it('keeps a refused turn out of the history', () => {
    const refused = reply({
      stopReason: 'refusal',
      refusal: { category: 'cyber', explanation: null },
    });
    const context = take(called, refused);
    expect(context.messages).toBe(called.messages);
    expect(context.refusal).toEqual({ text: 'hi', category: 'cyber', explanation: null });
    expect(context.ledger.spent.turns).toBe(1);
    expect(take(called, reply({ stopReason: 'refusal' })).refusal?.category).toBeNull();
  });

  it('adds no message for a reply of blanks', () => {
    const content = [text(''), text(' \n')];
    expect(take(called, reply({ content })).messages).toBe(called.messages);
  });

  it.each([
    ['end_turn' as const, 1, 0, 'first second'],
    ['pause_turn' as const, 1, 1, 'first second'],
    ['pause_turn' as const, 0, 0, 'second'],
    ['end_turn' as const, 0, 0, 'second'],
  ])(
    'after %s with %i continuations: %i, and the answer so far',
    (stopReason, before, after, answer) => {
      const context = { ...called, continuations: before, answer: 'first ' };
      const content = [text('second')];
      expect(take(context, reply({ stopReason, content }))).toMatchObject({
        continuations: after,
        answer,
      });
    },
  );

  it('gives each tool use a legal id of its own in the whole transcript', () => {
    let renamed = 0;
    const anyId = fc.oneof(
      fc.constantFrom('a', 'a_2', '__proto__', 'constructor', '', 'x y'),
      fc.string({ unit: 'binary', maxLength: 70 }),
    );
    fc.assert(
      fc.property(fc.array(fc.array(anyId, { maxLength: 4 }), { maxLength: 6 }), (turns) => {
        let context = sampleRun();
        for (const ids of turns) {
          context = take(begin(context), asking(...ids.map((id) => toolUse(id))));
          context = step(context, admitCalls(context));
        }
        const ids = context.messages.flatMap(toolUsesIn).map(({ id }) => id);
        const wished = turns.flat();
        if (ids.some((id, index) => id !== wished[index])) renamed += 1;
        expect(ids).toHaveLength(wished.length);
        expect(new Set(ids).size).toBe(ids.length);
        for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(ids[0] === undefined || isLegalId(ids[0])).toBe(true);
      }),
      { numRuns: 300 },
    );
    expect(renamed).toBeGreaterThan(50);
  });

  it.each([
    [null, 'search', 0],
    [0, 'search', 1],
    [1, 'search', 1],
    [2, 'search', 2],
    [3, 'search', 2],
    [3, 'poll', 0],
    [3, 'unknown', 2],
  ])('under maxRepeats %s counts two calls of %s as %i', (maxRepeats, name, expected) => {
    let context = sampleRun({}, { maxRepeats });
    for (const id of ['1', '2']) context = take(begin(context), asking(toolUse(id, name)));
    expect(context.repeats).toBe(expected);
    expect(take(begin(context), reply()).repeats).toBe(0);
  });

  it('never changes a message that was there before', () => {
    const before = JSON.stringify(called.messages);
    const context = take(called, asking(toolUse('1')));
    expect(JSON.stringify(context.messages.slice(0, -1))).toBe(before);
    expect(context.messages[0]).toBe(called.messages[0]);
  });
});

it('adds a user message only when there is something to say', () => {
  const messages: Message[] = [userMessage('a')];
  expect(withUserBlocks(messages, [])).toBe(messages);
  expect(withUserBlocks(messages, [text('b')])).toEqual([userMessage('a'), userMessage('b')]);
});

it.each([
  ['max_tokens' as const, 0, 2],
  ['max_tokens' as const, 1, 1],
  ['pause_turn' as const, 0, 1],
])('after %s with %i cut calls there are %i things to say', (stopReason, cutCalls, expected) => {
  const context = { ...sampleRun(), stopReason, cutCalls, steered: [text('wait')] };
  const { steered } = askToGoOn(context);
  expect(steered).toHaveLength(expected);
  expect(steered?.[0]).toEqual(text('wait'));
});

describe('joinSteered', () => {
  it('puts what was steered behind the transcript, and counts it', () => {
    const before = { ...sampleRun(), steered: [text('also'), text('this')] };
    const context = { ...before, ...joinSteered(before) };
    expect(context.steered).toEqual([]);
    expect(context.messages).toEqual([
      ...before.messages,
      { role: 'user', content: before.steered },
    ]);
    expect(context.contextTokens).toBe(before.contextTokens + tokensAtMost(before.steered));
  });

  it('changes nothing when nothing was steered', () => {
    const before = sampleRun();
    expect({ ...before, ...joinSteered(before) }).toEqual(before);
  });

  it("leaves out the run's own wish to go on, and nothing that a person said", () => {
    const cut = { ...sampleRun(), stopReason: 'max_tokens' as const, continuations: 1 };
    const asked = { ...cut, ...askToGoOn(cut) };
    expect(joinSteered(asked)).toEqual({ steered: [] });
    const twice = { ...asked, steered: [...asked.steered, ...asked.steered, text('this')] };
    const { messages } = joinSteered(twice);
    expect(messages?.at(-1)?.content).toEqual([asked.steered[0], text('this')]);
    const notAsked = { ...asked, continuations: 0 };
    expect(joinSteered(notAsked).messages?.at(-1)?.content).toEqual(asked.steered);
  });
});

const rate = fc.double({ min: 0, max: 30, noNaN: true });
const anyPrice: fc.Arbitrary<Price | null> = fc.option(
  fc.record({
    input: rate,
    output: rate,
    tiers: fc.array(fc.record({ aboveInputTokens: fc.nat(3_000), input: rate, output: rate }), {
      maxLength: 2,
    }),
  }),
  { freq: 8 },
);
const anyModel: fc.Arbitrary<ModelSettings> = fc
  .tuple(anyPrice, fc.integer({ min: 1, max: 200 }), fc.nat(2_000))
  .map(([price, minOutputTokens, more]) => ({
    ...sampleModel,
    price,
    minOutputTokens,
    maxOutputTokens: minOutputTokens + more,
  }));
/** About one in three is no limit; the others are near to what a few calls take. */
const some = (max: number) => fc.option(fc.nat(max), { freq: 2 });
const anyLimits: fc.Arbitrary<Limits> = fc
  .record({
    maxTurns: some(12),
    maxInputTokens: some(60_000),
    maxOutputTokens: some(8_000),
    maxTotalTokens: some(80_000),
    maxCostMicros: some(1_000_000),
  })
  .map((limits) => ({ ...unlimited, ...limits }));
/** What happens to one call; parts of what it reserved, in thousandths. */
const anyOutcome = fc.record({
  kind: fc.constantFrom(
    'reply',
    'reply',
    'reply',
    'reply',
    'silent',
    'lost',
    'billed',
    'unbilled',
    'failed',
  ),
  input: fc.nat(1_000),
  read: fc.nat(1_000),
  write: fc.nat(1_000),
  long: fc.nat(1_000),
  output: fc.nat(1_000),
  says: fc.nat(400),
  steers: fc.nat(300),
  model: fc.nat(1),
});
type Outcome = typeof anyOutcome extends fc.Arbitrary<infer Value> ? Value : never;
const anyRun = fc.record({
  models: fc.tuple(anyModel, anyModel),
  limits: anyLimits,
  onLimit: fc.constantFrom('wrapUp' as const, 'ask' as const, 'stop' as const),
  outcomes: fc.array(anyOutcome, { minLength: 1, maxLength: 12 }),
  words: fc.nat(1_500),
});

const part = (whole: number, thousandths: number): number =>
  Math.floor((whole * thousandths) / 1_000);

/** Any usage that the reservation of this call allows. */
function usageOf(context: RunContext, outcome: Outcome): Usage {
  const reserved = reservedFor(context.ledger, 'model') ?? nothing;
  const inputTokens = part(reserved.inputTokens, outcome.input);
  const cacheReadTokens = part(reserved.inputTokens - inputTokens, outcome.read);
  const cacheWriteTokens = part(
    reserved.inputTokens - inputTokens - cacheReadTokens,
    outcome.write,
  );
  return {
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: part(cacheWriteTokens, outcome.long),
    outputTokens: part(reserved.outputTokens, outcome.output),
  };
}

function after(context: RunContext, outcome: Outcome): RunContext {
  const plan = { ...firstAttempt, attempt: outcome.model === 0 ? 2 : 1, model: outcome.model };
  const content = [text('x'.repeat(outcome.says))];
  switch (outcome.kind) {
    case 'reply':
      return take(context, reply({ content, usage: usageOf(context, outcome) }));
    case 'silent':
      return take(context, reply({ content, usage: noUsage }));
    case 'lost':
      return step(context, chargeModelCall(context));
    case 'failed':
      return step(context, releaseModelCall(context));
    default:
      return step(context, planAgain(context, { plan, mayHaveBilled: outcome.kind === 'billed' }));
  }
}

const isWithinLimits = (context: RunContext): boolean =>
  limitPassedBy(context.ledger, nothing) === null;

describe('a row of model calls, under any limits and prices', () => {
  it('never passes a limit: not when reserving, not when settling, not in the last answer', () => {
    const seen = { allowed: 0, shrunk: 0, refused: 0, wrappedUp: 0, shrunkLast: 0, fallback: 0 };
    fc.assert(
      fc.property(anyRun, ({ models, limits, onLimit, outcomes, words }) => {
        let context = sampleRun({ models, onLimit }, limits, [userMessage('x'.repeat(words + 1))]);
        for (const outcome of outcomes) {
          const { maxOutputTokens } = models[context.plan.model] ?? models[0];
          if (outcome.steers > 200) {
            context = { ...context, steered: [text('y'.repeat(outcome.steers))] };
          }
          const limit = limitReached(context);
          const isLast = limit !== null && onLimit === 'wrapUp' && canWrapUp(context);
          if (limit !== null) seen.refused += 1;
          if (limit !== null && !isLast) return;
          context = begin({ ...context, limit }, isLast ? 'wrapUp' : 'turn');
          expect(isWithinLimits(context)).toBe(true);
          seen.allowed += 1;
          if (context.replyCap < maxOutputTokens) seen[isLast ? 'shrunkLast' : 'shrunk'] += 1;
          if (isLast) seen.wrappedUp += 1;
          if (context.plan.model === 1) seen.fallback += 1;
          context = after(context, outcome);
          expect(isWithinLimits(context)).toBe(true);
          expect(context.ledger.reserved).toEqual([]);
          if (isLast) return;
        }
      }),
      { numRuns: 2_000 },
    );
    expect(seen.allowed).toBeGreaterThan(2_000);
    expect(seen.shrunk).toBeGreaterThan(200);
    expect(seen.refused).toBeGreaterThan(500);
    expect(seen.wrappedUp).toBeGreaterThan(100);
    expect(seen.shrunkLast).toBeGreaterThan(30);
    expect(seen.fallback).toBeGreaterThan(100);
  });

  it('can always pay the last answer that it held back, when nothing came in between', () => {
    let held = 0;
    let tight = 0;
    fc.assert(
      fc.property(anyRun, anyOutcome, ({ models, limits, words }, outcome) => {
        const settings = { models: [models[0]] as const, onLimit: 'wrapUp' as const };
        const before = sampleRun(settings, limits, [userMessage('x'.repeat(words + 1))]);
        fc.pre(limitReached(before) === null);
        const called = begin(before);
        const context = take(called, reply({ usage: usageOf(called, outcome) }));
        held += 1;
        if (limitReached(context) !== null) tight += 1;
        expect(canWrapUp(context)).toBe(true);
        expect(isWithinLimits(begin(context, 'wrapUp'))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
    expect(held).toBe(1_000);
    expect(tight).toBeGreaterThan(50);
  });

  it('counts what is added since the last reply by its bytes at least', () => {
    let added = 0;
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 }),
        fc.nat(500),
        (texts, counted) => {
          const usage = { ...noUsage, inputTokens: counted + 1, outputTokens: 10 };
          const replied = take(begin(sampleRun()), reply({ usage }));
          const steered = texts.map(text);
          const context = begin({ ...replied, steered });
          const bytes = Buffer.byteLength(texts.join(''));
          added += bytes;
          expect(context.contextTokens).toBeGreaterThanOrEqual(counted + 11 + bytes);
          expect(context.contextTokens).toBeLessThanOrEqual(
            counted + 11 + (texts.length > 0 ? tokensAtMost(steered) : 0),
          );
          expect(reservedFor(context.ledger, 'model')?.inputTokens).toBe(context.contextTokens);
        },
      ),
    );
    expect(added).toBeGreaterThan(500);
  });
});

it('shrinks a reply beside what tools have set aside', () => {
  const context = sampleRun({}, { maxCostMicros: 20_000 });
  const alone = begin(context).replyCap;
  const tools = reserve(context.ledger, 'tool:1', { ...nothing, costMicros: 10_000 });
  const beside = begin({ ...context, ledger: tools });
  expect(beside.replyCap).toBeLessThan(alone);
  expect(isWithinLimits(beside)).toBe(true);
});
