import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Limits } from '../../src/core/budget.ts';
import * as calls from '../../src/core/call-steps.ts';
import { historyProblems, mergeNeighbours } from '../../src/core/history.ts';
import {
  callsOf,
  committed,
  limitPassedBy,
  nothing,
  totalToolCalls,
} from '../../src/core/ledger.ts';
import {
  errorResult,
  type ToolResult,
  type ToolUse,
  text,
  toolUsesIn,
} from '../../src/core/message.ts';
import { takeReply } from '../../src/core/model-steps.ts';
import type { ModelReply, StopReason } from '../../src/core/reply.ts';
import type { RunContext, RunSettings } from '../../src/core/run-context.ts';
import type { ToolEnding, ToolOutcome } from '../../src/core/tool-call.ts';
import { asking, reply, sampleRun, tool, toolUse } from './sample-run.ts';

type Change = Partial<RunContext>;
const step = (context: RunContext, change: Change): RunContext => ({ ...context, ...change });

/** A run that was given this reply; its model call is settled. */
const replied = (context: RunContext, answer: ModelReply): RunContext =>
  step(context, takeReply(context, answer));
const admitted = (context: RunContext, answer: ModelReply): RunContext => {
  const next = replied(context, answer);
  return step(next, calls.admitCalls(next));
};
const asked = (
  uses: readonly ToolUse[],
  limits: Partial<Limits> = {},
  settings: Partial<RunSettings> = {},
): RunContext => admitted(sampleRun(settings, limits), asking(...uses));

const outcome = (callId: string, change: Partial<ToolOutcome> = {}): ToolOutcome => ({
  callId,
  result: { type: 'tool_result', tool_use_id: callId, content: `found ${callId}` },
  ending: 'done',
  costMicros: 0,
  activeMs: 0,
  ...change,
});
const settle = (context: RunContext, callId: string, change: Partial<ToolOutcome> = {}) =>
  step(context, calls.settleCall(context, outcome(callId, change)));
const close = (context: RunContext, why = 'The end.') =>
  step(context, calls.closeCalls(context, why));
const closedAfter = (context: RunContext): RunContext =>
  close(calls.openCalls(context).reduce((next, { id }) => settle(next, id), context));

const results = (context: RunContext): readonly ToolResult[] =>
  (context.messages.at(-1)?.content ?? []).filter((block) => block.type === 'tool_result');
const contents = (context: RunContext) => results(context).map(({ content }) => content);

describe('settleCall', () => {
  const priced = () =>
    asked([toolUse('1')], {}, { tools: [tool('search', { maxCostMicros: 5_000 })] });

  it('charges the whole reservation when what the call cost is not known', () => {
    const before = priced();
    const { ledger } = settle(before, '1', { costMicros: null });
    expect(ledger.reserved).toEqual([]);
    expect(ledger.uncertain.costMicros).toBe(before.ledger.uncertain.costMicros + 5_000);
    expect(ledger.spent).toEqual(before.ledger.spent);
    expect(committed(ledger)).toEqual(committed(before.ledger));
  });

  it('charges what the call cost when that is known', () => {
    const before = priced();
    const { ledger } = settle(before, '1', { costMicros: 30 });
    expect(ledger.reserved).toEqual([]);
    expect(ledger.spent.costMicros).toBe(before.ledger.spent.costMicros + 30);
    expect(ledger.uncertain).toEqual(before.ledger.uncertain);
  });
});

describe('admitCalls', () => {
  it('admits known tools in the order of the reply', () => {
    const context = asked([toolUse('1'), toolUse('2', 'mail')]);
    expect(calls.openCalls(context).map(({ id, effect }) => [id, effect])).toEqual([
      ['1', 'read'],
      ['2', 'once'],
    ]);
    expect(totalToolCalls(context.ledger)).toBe(2);
  });

  it('gives a tool declared once no retries, whatever it asks for', () => {
    const tools = [
      tool('mail', { effect: 'once', maxRetries: 5 }),
      tool('search', { maxRetries: 5 }),
    ];
    const context = asked([toolUse('1', 'mail'), toolUse('2')], {}, { tools });
    expect(context.calls.map(({ maxRetries }) => maxRetries)).toEqual([0, 5]);
  });

  it.each<[string, ToolUse, string]>([
    [
      'an unknown tool',
      toolUse('1', 'serach'),
      'There is no tool named "serach". Did you mean search?',
    ],
    ['a prototype-named tool', toolUse('1', '__proto__'), 'There is no tool named "__proto__".'],
    ['unreadable arguments', toolUse('1', 'search', { INVALID_JSON: '{' }), 'not valid JSON'],
  ])('answers %s at once, as malformed', (_, use, why) => {
    const context = asked([use, toolUse('2')]);
    expect(context.calls[0]).toMatchObject({ ending: 'malformed', result: { is_error: true } });
    expect(context.calls[0]?.result?.content).toContain(why);
    expect(calls.openCalls(context).map(({ id }) => id)).toEqual(['2']);
    expect(totalToolCalls(context.ledger)).toBe(1);
  });

  it.each([
    [0, []],
    [1, ['1']],
    [2, ['1', '2']],
    [3, ['1', '2', '3']],
    [4, ['1', '2', '3']],
  ])('admits as many as may run: %i of three in one batch', (most, expected) => {
    const uses = [toolUse('1'), toolUse('2'), toolUse('3')];
    const open = (context: RunContext) => calls.openCalls(context).map(({ id }) => id);
    expect(open(asked(uses, { maxToolCalls: most }))).toEqual(expected);
    expect(open(asked(uses, {}, { tools: [tool('search', { maxCalls: most })] }))).toEqual(
      expected,
    );
    const price = { tools: [tool('search', { maxCostMicros: 1_000 })] };
    const { costMicros } = committed(asked([]).ledger);
    const cost = asked(uses, { maxCostMicros: costMicros + 1_000 * most + 999 }, price);
    expect(open(cost)).toEqual(expected);
    expect(limitPassedBy(cost.ledger, nothing)).toBeNull();
  });

  it('counts calls over the whole run, each tool by itself', () => {
    const tools = [tool('search', { maxCalls: 1 }), tool('mail', { maxCalls: 1 })];
    const first = closedAfter(asked([toolUse('1')], {}, { tools }));
    const second = admitted(first, asking(toolUse('2'), toolUse('3', 'mail')));
    expect(calls.openCalls(second).map(({ id }) => id)).toEqual(['3']);
    expect(second.calls[0]?.result?.content).toContain('may be called 1 times');
    expect(second.calls[0]?.ending).toBe('notRun');
    expect(callsOf(second.ledger, 'search')).toBe(1);
  });

  it.each<[StopReason, string]>([
    ['max_tokens', 'cut off at the output limit'],
    ['end_turn', 'ended early (end_turn)'],
    ['pause_turn', 'ended early (pause_turn)'],
    ['unknown', 'ended early (unknown)'],
    ['model_context_window_exceeded', 'ended early'],
  ])('runs no tool of a reply that stopped for %s, and answers each', (stopReason, why) => {
    const answer = reply({ content: [text('a'), toolUse('1'), toolUse('2')], stopReason });
    const context = admitted(sampleRun(), answer);
    expect(context).toMatchObject({ calls: [], cutCalls: 2 });
    expect(results(context).map((result) => result.tool_use_id)).toEqual(['1', '2']);
    expect(contents(context).every((content) => String(content).includes(why))).toBe(true);
    expect(totalToolCalls(context.ledger)).toBe(0);
    expect(historyProblems(context.messages)).toEqual([]);
  });

  it('has nothing to do for a reply without tool uses', () => {
    const context = replied(sampleRun(), reply());
    expect(calls.admitCalls(context)).toMatchObject({ cutCalls: 0 });
    expect(calls.admitCalls(context).messages).toBeUndefined();
  });

  it('does not run the call that a loop ends with', () => {
    let context = sampleRun({}, { maxRepeats: 3 });
    for (const id of ['1', '2']) context = closedAfter(admitted(context, asking(toolUse(id))));
    context = admitted(context, asking(toolUse('3')));
    expect(calls.openCalls(context)).toEqual([]);
    expect(context.calls[0]?.result?.content).toContain('was made 3 times in a row');
  });
});

describe('waiting', () => {
  const context = asked([toolUse('1'), toolUse('2')]);
  const approval = { for: 'approval', argumentsHash: 'h' } as const;
  const waits = step(context, calls.noteWait(context, '1', approval));

  it('is known for each call, and for all together', () => {
    expect(calls.isWaitingFor(waits, '1', 'approval')).toBe(true);
    expect(calls.isWaitingFor(waits, '1', 'settlement')).toBe(false);
    expect(calls.isWaitingFor(waits, '2', 'approval')).toBe(false);
    expect(calls.isOnlyWaiting(waits)).toBe(false);
    const both = step(waits, calls.noteWait(waits, '2', { for: 'settlement' }));
    expect(calls.isOnlyWaiting(both)).toBe(true);
    expect(calls.isOnlyWaiting(settle(waits, '2'))).toBe(true);
    expect(calls.isOnlyWaiting(step(waits, calls.noteWork(waits, '1', true)))).toBe(false);
    expect(calls.isOnlyWaiting(sampleRun())).toBe(false);
  });

  it.each([
    ['1', 'h', true],
    ['1', 'other', false],
    ['1', '', false],
    ['2', 'h', false],
    ['__proto__', 'h', false],
  ])('lets an approval of call %s with hash %j count: %s', (callId, hash, expected) => {
    expect(calls.isApprovable(waits, callId, hash)).toBe(expected);
  });

  it('lets no approval count for a call that is settled, or works again', () => {
    expect(calls.isApprovable(settle(waits, '1'), '1', 'h')).toBe(false);
    const works = step(waits, calls.noteWork(waits, '1', false));
    expect(calls.isApprovable(works, '1', 'h')).toBe(false);
  });

  it('keeps an edit for the open call, and changes no other', () => {
    const edited = step(waits, calls.noteEdit(waits, '1', { a: 1 }));
    expect(edited.calls.map(({ editedInput }) => editedInput)).toEqual([{ a: 1 }, null]);
    const settled = settle(waits, '1');
    expect(calls.noteEdit(settled, '1', { a: 1 }).calls).toEqual(settled.calls);
    expect(calls.noteEdit(waits, 'nobody', { a: 1 }).calls).toEqual(waits.calls);
  });
});

describe('settleCall', () => {
  const tools = [tool('search', { maxCostMicros: 500 })];
  const context = asked([toolUse('1'), toolUse('2')], {}, { tools });

  it('keeps result, ending, cost and time', () => {
    const settled = settle(context, '1', { costMicros: 200, activeMs: 30, ending: 'failed' });
    expect(settled.calls[0]).toMatchObject({ ending: 'failed', result: { content: 'found 1' } });
    expect(settled.ledger.activeMs).toBe(30);
    expect(committed(settled.ledger).costMicros).toBe(committed(context.ledger).costMicros - 300);
  });

  it('takes the first outcome, and pays it once', () => {
    const once = settle(context, '1', { costMicros: 200 });
    const twice = settle(once, '1', { costMicros: 400, result: errorResult('1', 'late') });
    expect(twice.calls).toEqual(once.calls);
    expect(twice.ledger).toEqual(once.ledger);
  });

  it('ignores what it does not know', () => {
    const settled = settle(context, 'nobody', { costMicros: 400 });
    expect([settled.calls, settled.ledger]).toEqual([context.calls, context.ledger]);
  });
});

describe('closeCalls', () => {
  it('answers what never began, what had begun, and what is done, each as it is', () => {
    const tools = [tool('search', { maxCostMicros: 500 })];
    let context = asked([toolUse('1'), toolUse('2'), toolUse('3')], {}, { tools });
    const before = committed(context.ledger).costMicros;
    context = settle(context, '1', { costMicros: 100 });
    context = step(context, calls.noteWork(context, '2', true));
    context = close(context, 'The run was cancelled.');
    expect(contents(context)).toEqual([
      'found 1',
      'The run was cancelled. The call had begun and was stopped before its result was known: it may have taken effect.',
      'Not executed: The run was cancelled.',
    ]);
    expect(context.ledger.uncertain.costMicros).toBe(500);
    expect(committed(context.ledger).costMicros).toBe(before - 400 - 500);
    expect(context.ledger.reserved).toEqual([]);
  });

  it('takes a call that waits for a settlement as begun, and one that waits for approval as not', () => {
    let context = asked([toolUse('1', 'mail'), toolUse('2', 'mail')]);
    context = step(context, calls.noteWork(context, '1', true));
    context = step(context, calls.noteWait(context, '1', { for: 'settlement' }));
    context = step(context, calls.noteWork(context, '2', true));
    context = step(context, calls.noteWait(context, '2', { for: 'approval', argumentsHash: 'h' }));
    const [first, second] = contents(close(context));
    expect(first).toContain('may have taken effect');
    expect(second).toContain('Not executed');
  });

  it('does nothing when nothing is unanswered', () => {
    expect(calls.closeCalls(sampleRun(), 'x')).toEqual({});
    expect(calls.closeCalls(closedAfter(asked([toolUse('1')])), 'x')).toEqual({});
  });

  it('answers tool uses that were never admitted: a last reply that still asks', () => {
    const context = close(
      replied(sampleRun(), asking(toolUse('1'))),
      'The run has reached its end.',
    );
    expect(contents(context)).toEqual(['Not executed: The run has reached its end.']);
  });
});

describe('malformed replies', () => {
  const bad = (id: string) =>
    asking(toolUse(id, 'nothing'), toolUse(`${id}b`, 'search', { INVALID_JSON: '' }));
  const afterBad = closedAfter(admitted(sampleRun(), bad('1')));

  it('are counted in a row', () => {
    expect(afterBad.malformedReplies).toBe(1);
    expect(closedAfter(admitted(afterBad, bad('2'))).malformedReplies).toBe(2);
  });

  it('include those whose arguments the schema refused', () => {
    const context = admitted(afterBad, asking(toolUse('2')));
    expect(close(settle(context, '2', { ending: 'malformed' })).malformedReplies).toBe(2);
  });

  it.each<[string, ModelReply]>([
    ['one good call among bad ones', asking(toolUse('2'), toolUse('3', 'nothing'))],
    ['a good call', asking(toolUse('2'))],
    ['an answer', reply()],
  ])('begin anew after %s', (_, answer) => {
    expect(closedAfter(admitted(afterBad, answer)).malformedReplies).toBe(0);
  });

  it('are not forgiven for a pause', () => {
    const context = admitted(afterBad, reply({ stopReason: 'pause_turn' }));
    expect(context.malformedReplies).toBe(1);
  });

  it.each<[ToolEnding, number]>([
    ['failed', 0],
    ['denied', 0],
    ['notRun', 0],
    ['malformed', 2],
  ])('of a call that was %s: %i', (ending, expected) => {
    const context = settle(admitted(afterBad, asking(toolUse('2'))), '2', { ending });
    expect(close(context).malformedReplies).toBe(expected);
  });
});

describe('the notice of a repeat', () => {
  const notice = 'Once more ends the run';

  it.each([
    [3, [1]],
    [4, [2]],
    [5, [3]],
    [2, []],
    [null, []],
  ])('is told once, in the round before the end: of maxRepeats %s', (maxRepeats, expected) => {
    let context = sampleRun({}, { maxRepeats });
    const told: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      context = admitted(context, asking(toolUse(`${round}`)));
      const isOver = calls.openCalls(context).length === 0;
      context = closedAfter(context);
      if (JSON.stringify(contents(context)).includes(notice)) told.push(round);
      if (isOver) break;
    }
    expect(told).toEqual(expected);
  });

  const secondRound = (first: readonly ToolUse[], second: readonly ToolUse[]) =>
    admitted(closedAfter(asked(first, { maxRepeats: 3 })), asking(...second));

  it('is told once in a batch, with its last result', () => {
    const context = secondRound(
      [toolUse('1'), toolUse('2', 'mail')],
      [toolUse('3'), toolUse('4', 'mail')],
    );
    const [first, second] = contents(closedAfter(context));
    expect(first).toBe('found 3');
    expect(second).toContain(`found 4\n\n[The same calls were made 2 times in a row. ${notice}`);
  });

  it('is told beside blocks, beside nothing, and beside an error', () => {
    const context = secondRound([toolUse('1')], [toolUse('2')]);
    const image = { type: 'image', source: {} } as const;
    const told = (result: Partial<ToolResult>) =>
      contents(close(settle(context, '2', { result: { ...outcome('2').result, ...result } })))[0];
    expect(told({ content: [image] })).toEqual([image, text(expect.stringContaining(notice))]);
    expect(told({ content: '' })).toMatch(/^\[The same call/);
    expect(told({ content: 'broke', is_error: true })).toMatch(/^broke\n\n\[The same call/);
  });
});

const anyUse = fc
  .record({
    id: fc.constantFrom('a', 'b', '__proto__', 'constructor', ''),
    name: fc.constantFrom('search', 'mail', 'poll', 'dear', 'nothing', '__proto__'),
    input: fc.constantFrom<ToolUse['input']>({}, { q: 1 }, { INVALID_JSON: '{' }),
  })
  .map(({ id, name, input }) => toolUse(id, name, input));
const anyFate = fc.constantFrom('done', 'failed', 'twice', 'begun', 'waits', 'interrupted', 'open');
const anyTurn = fc.record({
  uses: fc.array(anyUse, { maxLength: 5 }),
  stopReason: fc.constantFrom<StopReason>(
    'tool_use',
    'tool_use',
    'tool_use',
    'tool_use',
    'max_tokens',
    'unknown',
  ),
  fates: fc.array(anyFate, { minLength: 5, maxLength: 5 }),
  costMicros: fc.nat(400),
});
const batchTools = [
  tool('search', { maxCalls: 3 }),
  tool('mail', { effect: 'once' }),
  tool('poll', { isRepeatable: true }),
  tool('dear', { maxCostMicros: 400 }),
];
const batchLimits = fc.record({
  maxToolCalls: fc.option(fc.nat(8)),
  maxCostMicros: fc.option(fc.nat(5_000)),
  maxRepeats: fc.option(fc.nat(4)),
});

function meet(context: RunContext, id: string, fate: string, costMicros: number): RunContext {
  const cost = context.calls.find((call) => call.id === id)?.name === 'dear' ? costMicros : 0;
  switch (fate) {
    case 'done':
      return settle(context, id, { costMicros: cost });
    case 'failed':
      return settle(context, id, {
        ending: 'failed',
        result: errorResult(id, 'broke'),
        costMicros: cost,
      });
    case 'twice':
      return settle(settle(context, id, { costMicros: cost }), id, { costMicros: 1_000_000 });
    case 'begun':
      return step(context, calls.noteWork(context, id, true));
    case 'waits':
      return step(context, calls.noteWait(context, id, { for: 'approval', argumentsHash: 'h' }));
    case 'interrupted':
      return step(context, calls.noteWait(context, id, { for: 'settlement' }));
    default:
      return context;
  }
}

it('answers every tool use exactly once and leaves no reservation, whatever a batch holds and meets', () => {
  const seen = { uses: 0, malformed: 0, notRun: 0, ran: 0, cut: 0, renamed: 0, dear: 0 };
  fc.assert(
    fc.property(batchLimits, fc.array(anyTurn, { maxLength: 6 }), (limits, turns) => {
      let context = sampleRun({ tools: batchTools }, limits);
      for (const { uses, stopReason, fates, costMicros } of turns) {
        const before = context.messages;
        const { spent } = context.ledger;
        context = admitted(context, reply({ content: [text('so'), ...uses], stopReason }));
        expect(context.ledger.spent).toEqual(spent);
        if (stopReason === 'tool_use') {
          expect(context.calls).toHaveLength(uses.length);
          for (const { ending } of context.calls) {
            if (ending === 'malformed') seen.malformed += 1;
            else if (ending === 'notRun') seen.notRun += 1;
            else seen.ran += 1;
          }
          calls.openCalls(context).forEach(({ id, name }, index) => {
            if (name === 'dear') seen.dear += 1;
            context = meet(context, id, fates[index] ?? 'open', costMicros);
          });
          context = close(context);
        } else seen.cut += uses.length;
        const [asking, ...answers] = context.messages.slice(before.length);
        const ids = toolUsesIn(asking).map(({ id }) => id);
        if (ids.some((id, index) => id !== uses[index]?.id)) seen.renamed += 1;
        seen.uses += ids.length;
        expect(answers).toHaveLength(ids.length > 0 ? 1 : 0);
        expect(results(context).map((result) => result.tool_use_id)).toEqual(ids);
        expect(context.calls).toEqual([]);
        expect(context.ledger.reserved).toEqual([]);
        expect(limitPassedBy(context.ledger, nothing)).toBeNull();
        expect(totalToolCalls(context.ledger)).toBeLessThanOrEqual(limits.maxToolCalls ?? 1_000);
        expect(callsOf(context.ledger, 'search')).toBeLessThanOrEqual(3);
        expect(context.messages.slice(0, before.length)).toEqual(before);
        expect(historyProblems(mergeNeighbours(context.messages))).toEqual([]);
        expect(calls.closeCalls(context, 'again')).toEqual({});
      }
    }),
    { numRuns: 1_000 },
  );
  expect(seen.uses).toBeGreaterThan(2_000);
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100);
});
