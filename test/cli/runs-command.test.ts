import { describe, expect, it } from 'vitest';
import { plain } from '../../src/cli/paint.ts';
import { runLines, waitsLine } from '../../src/cli/runs-command.ts';
import type { RunSummary, WaitingFor } from '../../src/stores/store.ts';

const nowMs = 1_000_000_000;
const run = (more: Partial<RunSummary>): RunSummary => ({
  runId: 'run_3f2a91c0-2222-4333-8444-555555555555',
  status: 'completed',
  state: 'completed',
  agent: 'pawl',
  tags: [],
  turn: 3,
  waits: [],
  saveVersion: 9,
  createdAtMs: 0,
  updatedAtMs: nowMs - 12_000,
  forkOf: null,
  ...more,
});
const approvalOf = (tool: string): WaitingFor => ({ for: 'approval', callId: 'c', tool });

describe('the list of runs', () => {
  it('has a line for each', () => {
    const waiting = run({
      runId: 'order-42',
      status: 'waiting',
      state: 'executeTools.waiting',
      agent: null,
      waits: [approvalOf('send_mail')],
      updatedAtMs: nowMs - 7_200_000,
    });
    expect(runLines([run({}), waiting], nowMs, plain)).toEqual([
      '  RUN       STATUS     STATE                 TURN  AGENT   AGE  WAITS FOR',
      '  3f2a91c0  completed  completed                3  pawl   12 s',
      '  order-42  waiting    executeTools.waiting     3          2 h  approval of send_mail',
    ]);
  });

  it('shows hostile names harmlessly', () => {
    const agent = `\u001b[2J${'x'.repeat(500)}`;
    const [, line = ''] = runLines([run({ agent })], nowMs, plain);
    expect(line).toContain('\\u{1b}[2Jx');
    expect(line.length).toBeLessThan(150);
  });
});

describe('what a run waits for', () => {
  it.each<[string, readonly WaitingFor[]]>([
    ['', []],
    ['a higher limit', [{ for: 'budget', callId: null, tool: null }]],
    ['being resumed', [{ for: 'resume', callId: null, tool: null }]],
    ['settlement of pay', [{ for: 'settlement', callId: 'c', tool: 'pay' }]],
    [
      'approval of a, approval of b, approval of c, 2 more',
      ['a', 'b', 'c', 'd', 'e'].map(approvalOf),
    ],
  ])('is %j', (words, waits) => {
    expect(waitsLine({ waits })).toBe(words);
  });
});
