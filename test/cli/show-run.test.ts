import { describe, expect, it } from 'vitest';
import { inColour, plain } from '../../src/cli/paint.ts';
import { talkScreen } from '../../src/cli/screen.ts';
import { endLines, linesOf, spendLine } from '../../src/cli/show-run.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { noUsage } from '../../src/core/reply.ts';
import type { RunEvent, UnaddressedEvent } from '../../src/core/run-event.ts';
import { createAgent } from '../../src/runtime/agent.ts';
import type { RunResult } from '../../src/runtime/run-result.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const ref = { turn: 1, attempt: 1, model: 'claude' } as const;
const event = (unaddressed: UnaddressedEvent): RunEvent =>
  ({ ...unaddressed, runId: 'run_1' }) as RunEvent;
const result = (content: string) =>
  ({ type: 'tool_result', tool_use_id: 'toolu_1', content }) as const;

describe('the lines about an event', () => {
  it.each<[UnaddressedEvent, readonly string[]]>([
    [{ type: 'state.entered', state: 'callModel' }, ['  ○ callModel']],
    [{ type: 'state.entered', state: 'completed' }, ['  ● completed']],
    [{ type: 'model.started', ...ref }, ['      turn 1 · claude']],
    [{ type: 'model.started', ...ref, attempt: 2 }, ['      turn 1 · claude · attempt 2']],
    [
      {
        type: 'model.replied',
        ...ref,
        stopReason: 'tool_use',
        usage: { ...noUsage, inputTokens: 1_000, cacheReadTokens: 234, outputTokens: 5 },
        costUsd: 0.0123,
      },
      ['      tool_use · 1,234 tokens in, 5 out · $0.0123'],
    ],
    [
      {
        type: 'model.failed',
        ...ref,
        failure: { code: 'provider_overloaded', message: 'Busy.\u001b[2J' },
        isRetryable: true,
        retryAt: 0,
      },
      ['      ✗ Busy.\\u{1b}[2J (provider_overloaded) It may be tried again.'],
    ],
    [
      { type: 'tool.started', callId: 'c', name: 'add', input: { a: 1 }, attempt: 1 },
      ['      → add {"a":1}'],
    ],
    [
      { type: 'tool.started', callId: 'c', name: 'add', input: 'a\u202eb', attempt: 2 },
      ['      → add a\\u{202e}b (attempt 2)'],
    ],
    [{ type: 'tool.progress', callId: 'c', value: { done: 3 } }, ['      · {"done":3}']],
    [
      { type: 'tool.settled', callId: 'c', name: 'add', ending: 'done', result: result('1\n2') },
      ['      ← add 1', '        2'],
    ],
    [
      { type: 'tool.settled', callId: 'c', name: 'add', ending: 'denied', result: result('no') },
      ['      ← add denied · no'],
    ],
    [
      { type: 'limit.near', limit: { name: 'maxCostMicros', used: 450_000, max: 500_000 } },
      ['      ! close to maxCostUsd: $0.4500 of $0.5000'],
    ],
    [{ type: 'run.started', isResumed: false }, []],
    [{ type: 'text.delta', ...ref, index: 0, text: 'x' }, []],
  ])('%j', (unaddressed, lines) => {
    expect(linesOf(event(unaddressed), plain)).toEqual(lines);
  });
});

const spend: RunResult['budget']['spend'] = {
  turns: 1,
  inputTokens: 1_500,
  outputTokens: 20,
  costUsd: 0.5,
  activeMs: 900,
  toolCalls: 2,
};

describe('the spend', () => {
  it.each([
    [0.5, '1 model call · 2 tool calls · 1,500 tokens in, 20 out · $0.5000 · 900 ms active'],
    [
      null,
      '1 model call · 2 tool calls · 1,500 tokens in, 20 out · cost not known · 900 ms active',
    ],
  ])('with a cost of %s', (costUsd, line) => {
    expect(spendLine(spend, costUsd)).toBe(line);
  });
});

/** What a run of this script puts on a screen: talk lines, and data marked by `>`. */
async function screenOf(
  script: Parameters<typeof scriptedModel>[0],
  { showsAnswer }: { readonly showsAnswer: boolean },
): Promise<{ readonly said: readonly string[]; readonly written: string; readonly all: string }> {
  const said: string[] = [];
  let written = '';
  let all = '';
  const terminal: Terminal = {
    mayAsk: false,
    showsAnswer,
    paint: plain,
    dataPaint: plain,
    say(line = '') {
      said.push(line);
      all += `${line}\n`;
    },
    write(text) {
      written += text;
      all += text;
    },
    flush: async () => {},
  };
  const run = createAgent({ model: scriptedModel(script), retry: { baseMs: 0 } }).start('Hi.');
  const screen = talkScreen(terminal);
  for await (const told of run.events) screen.show(told);
  screen.end({ code: 0, reason: '', result: await run.result, waits: null, pending: [] });
  return { said, written, all };
}

const remarkThenAnswer = [
  { text: 'A remark.', toolUses: [{ name: 'nothing' }] },
  'The \u001b[1manswer.',
];

describe('the screen', () => {
  it('streams all text on a terminal, once', async () => {
    const { written } = await screenOf(remarkThenAnswer, { showsAnswer: true });
    expect(written).toBe('A remark.The \\u{1b}[1manswer.');
  });

  it('writes the answer alone where there is no terminal', async () => {
    const { written, said } = await screenOf(remarkThenAnswer, { showsAnswer: false });
    expect(written).toBe('The \\u{1b}[1manswer.\n');
    expect(said).toContain('      A remark.');
  });

  it('says on a terminal that the text of a failed attempt does not count', async () => {
    const broken = {
      stream: [
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
        { $reset: true },
      ],
    };
    const { all } = await screenOf([broken, 'Whole.'], { showsAnswer: true });
    expect(all.indexOf('does not count')).toBeGreaterThan(all.indexOf('Half'));
    expect(all.indexOf('Whole.')).toBeGreaterThan(all.indexOf('does not count'));
    const piped = await screenOf([broken, 'Whole.'], { showsAnswer: false });
    expect(piped.written).toBe('Whole.\n');
  });

  it('has no answer for a run that ended between tool calls', async () => {
    const { written } = await screenOf([{ text: 'A remark.', toolUses: [{ name: 'nothing' }] }], {
      showsAnswer: false,
    });
    expect(written).toBe('');
  });

  it('ends with the reason and the spend', async () => {
    const run = createAgent({ model: scriptedModel(['Hello.']), budget: { maxTurns: 0 } });
    const lines = endLines(await run.start('Hi.').result, inColour);
    expect(lines[0]).toContain('The limit maxTurns was reached');
    expect(lines[0]).toContain('(budget_exceeded)');
    expect(lines[1]).toContain('0 model calls · 0 tool calls');
  });
});
