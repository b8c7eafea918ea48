import { describe, expect, it } from 'vitest';
import {
  approvalLines,
  askApproval,
  askBudget,
  type Person,
  raisedBudget,
  readAnswer,
} from '../../src/cli/ask.ts';
import { plain } from '../../src/cli/paint.ts';
import type { LineOptions, Typed } from '../../src/cli/read-line.ts';
import type { Json } from '../../src/core/json.ts';
import { createAgent } from '../../src/runtime/agent.ts';
import type { PendingCall, Run } from '../../src/runtime/run.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

describe('an answer', () => {
  it.each([
    ['y', { kind: 'approve' }],
    [' YES ', { kind: 'approve' }],
    ['n', { kind: 'deny', reason: '' }],
    ['n  not today', { kind: 'deny', reason: 'not today' }],
    ['no, use the other one', { kind: 'deny', reason: 'use the other one' }],
    ['e', { kind: 'edit' }],
    ['all', { kind: 'showAll' }],
    ['', { kind: 'unclear' }],
    ['y but first wait', { kind: 'unclear' }],
    ['not yet', { kind: 'unclear' }],
    ['yy', { kind: 'unclear' }],
    ['ja', { kind: 'unclear' }],
  ])('%j', (line, answer) => {
    expect(readAnswer(line)).toEqual(answer);
  });
});

const pending = (input: Json): PendingCall => ({
  callId: 'call_1',
  name: 'send_mail',
  input,
  waits: { for: 'approval', argumentsHash: '0123456789abcdef'.repeat(4) },
});
const linesFor = (input: Json): string =>
  approvalLines(
    pending(input),
    { effect: 'once' },
    {
      terminal: { say: () => {}, paint: plain },
    },
  ).join('\n');

describe('what a person decides about', () => {
  it('is shown with its effect, its exact arguments and their hash', () => {
    expect(linesFor({ to: 'ada@example.org' })).toBe(
      [
        '  ? send_mail wants to run · once: acts, once and for good',
        '      {',
        '        "to": "ada@example.org"',
        '      }',
        '      call call_1 · hash 0123456789ab',
      ].join('\n'),
    );
  });

  it.each([
    ['an escape sequence', 'a\u001b[2Jb', '"a\\u{1b}[2Jb"'],
    ['a change of direction', 'a\u202eb', '"a\\u{202e}b"'],
    ['a long blank', `a${' '.repeat(5_000)}b`, '"a\\u{20×5000}b"'],
    ['a line break', 'a\nb\rc', '"a\\nb\\rc"'],
  ])('hides no %s', (_name, text, shown) => {
    expect(linesFor({ text })).toContain(shown);
  });

  it('is cut with a note, its length and its hash when it is long', () => {
    const shown = linesFor({ text: 'x'.repeat(1_000_000) });
    expect(shown.length).toBeLessThan(7_000);
    expect(shown).toContain('more characters are not shown here›');
    expect(shown).toContain('hash 0123456789ab · 1,000,011 characters of JSON');
  });
});

/** Somebody who types these, one after another. */
function personTyping(typed: readonly (string | Typed['kind'])[], signal?: AbortSignal) {
  const left = [...typed];
  const said: string[] = [];
  const prefills: (string | undefined)[] = [];
  const person: Person = {
    terminal: { say: (line = '') => void said.push(line), paint: plain },
    readLine: async (_prompt: string, options?: LineOptions): Promise<Typed> => {
      prefills.push(options?.prefill);
      const next = left.shift() ?? 'closed';
      return next === 'closed' || next === 'interrupted'
        ? { kind: next }
        : { kind: 'line', line: next };
    },
    onInterrupt: () => void said.push('INTERRUPTED'),
    signal: signal ?? new AbortController().signal,
  };
  return { person, said, prefills, left };
}

const sendMail = (sent: unknown[]) =>
  defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    effect: 'once',
    run: (input) => {
      sent.push(input);
      return 'sent';
    },
  });

async function waitingRun(): Promise<{
  readonly run: Run;
  readonly call: PendingCall;
  readonly sent: unknown[];
}> {
  const sent: unknown[] = [];
  const model = scriptedModel([
    { toolUses: [{ name: 'send_mail', input: { to: 'ada\u202e' } }] },
    'done',
  ]);
  const run = createAgent({ model, tools: [sendMail(sent)] }).start('Write to Ada.');
  await run.idle();
  const [call] = run.pending;
  if (!call) throw new Error('No call waits');
  return { run, call, sent };
}

describe('asking for an approval', () => {
  it.each([
    ['y', ['y'], [{ to: 'ada\u202e' }]],
    ['n', ['n'], []],
    ['y after unclear answers', ['', 'hm', 'y'], [{ to: 'ada\u202e' }]],
    ['an edit', ['e', '{"to":"bob"}'], [{ to: 'bob' }]],
    ['an edit after one that is no JSON', ['e', '{to', 'e', '{"to":"bob"}'], [{ to: 'bob' }]],
    [
      'an edit after one that does not fit',
      ['e', '{"to":1}', 'e', '{"to":"bob"}'],
      [{ to: 'bob' }],
    ],
    ['n after an empty edit', ['e', ' ', 'n'], []],
  ])('decides by %s', async (_name, typed, expected) => {
    const { run, call, sent } = await waitingRun();
    const { person, left } = personTyping(typed);
    expect(await askApproval(run, call, { effect: 'once' }, person)).toBe('decided');
    expect((await run.result).status).toBe('completed');
    expect(sent).toEqual(expected);
    expect(left).toEqual([]);
  });

  it('passes the reason of a denial on to the model', async () => {
    const { run, call } = await waitingRun();
    const { person } = personTyping(['n she is away']);
    await askApproval(run, call, { effect: 'once' }, person);
    expect(JSON.stringify((await run.result).messages)).toContain('she is away');
  });

  it('lets the arguments be edited as JSON that hides nothing', async () => {
    const { run, call } = await waitingRun();
    const { person, prefills } = personTyping(['e', '{"to":"bob"}']);
    await askApproval(run, call, { effect: 'once' }, person);
    expect(prefills).toEqual([undefined, '{"to":"ada\\u202e"}']);
  });

  it('decides nothing when the input is closed', async () => {
    const { run, call } = await waitingRun();
    const { person } = personTyping(['closed']);
    expect(await askApproval(run, call, { effect: 'once' }, person)).toBe('left');
    expect(run.pending).toHaveLength(1);
    await run.suspend();
  });

  it('tells of Ctrl-C', async () => {
    const { run, call } = await waitingRun();
    const { person, said } = personTyping(['interrupted']);
    expect(await askApproval(run, call, { effect: 'once' }, person)).toBe('left');
    expect(said).toContain('INTERRUPTED');
    await run.suspend();
  });

  it('needs no decision about a run that was cancelled meanwhile', async () => {
    const { run, call } = await waitingRun();
    run.cancel();
    const { person, said } = personTyping(['y']);
    expect(await askApproval(run, call, { effect: 'once' }, person)).toBe('decided');
    expect(said.join('\n')).toContain('has ended');
  });
});

describe('a raised limit', () => {
  const turns = { name: 'maxTurns', used: 4, max: 3 } as const;
  const cost = { name: 'maxCostMicros', used: 600_000, max: 500_000 } as const;
  it.each([
    [turns, '5', { maxTurns: 5 }],
    [turns, '3', null],
    [turns, '', null],
    [turns, 'x', null],
    [turns, 'Infinity', null],
    [cost, '0.75', { maxCostUsd: 0.75 }],
    [cost, '$1', { maxCostUsd: 1 }],
    [cost, '0.5', null],
  ])('of %j by %j', (limit, typed, budget) => {
    expect(raisedBudget(limit, typed)).toEqual(budget);
  });

  it('lets the run go on', async () => {
    const model = scriptedModel([
      { toolUses: [{ name: 'send_mail', input: { to: 'a' } }] },
      'done',
    ]);
    const run = createAgent({
      model,
      tools: [sendMail([])],
      permissions: { otherwise: 'allow' },
      budget: { maxTurns: 1 },
      onLimit: 'ask',
    }).start('Go.');
    await run.idle();
    const { person, said } = personTyping(['1', '1.5', '2']);
    const limit = { name: 'maxTurns', used: 2, max: 1 } as const;
    expect(await askBudget(run, limit, person)).toBe('decided');
    expect((await run.result).text).toBe('done');
    expect(said.join('\n')).toContain('above 1');
    expect(said.join('\n')).toContain('a whole number');
  });
});
