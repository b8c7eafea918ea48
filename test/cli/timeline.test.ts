import { describe, expect, it } from 'vitest';
import { plain } from '../../src/cli/paint.ts';
import { causeOf, timelineLines } from '../../src/cli/timeline.ts';
import type { StepRecord } from '../../src/stores/store.ts';

const at = new Date(2026, 10, 29, 21, 58, 19, 104).getTime();
const step = (saveVersion: number, more: Partial<StepRecord> = {}): StepRecord => ({
  saveVersion,
  atMs: at + saveVersion,
  state: 'callModel',
  cause: 'run.started',
  events: [],
  turn: 1,
  spend: { inputTokens: 0, outputTokens: 0, costMicros: 0, activeMs: 0 },
  ...more,
});

describe('the cause of a step', () => {
  it.each([
    ['run.started', 'run.started'],
    ['xstate.init', 'run.started'],
    ['xstate.done.actor.modelCall', 'modelCall is done'],
    ['xstate.error.actor.tool.toolu_1', 'tool.toolu_1 failed'],
    ['approval.granted', 'approval.granted'],
    ['a\u001b[2J', 'a\\u{1b}[2J'],
    ['xstate.done.actor.\u202ex', '\\u{202e}x is done'],
  ])('%j is %j', (event, words) => {
    expect(causeOf(event)).toBe(words);
  });
});

describe('a timeline', () => {
  it('has a line for each step, with the spend so far', () => {
    const spend = { inputTokens: 1_000, outputTokens: 234, costMicros: 1_200, activeMs: 5 };
    const second = step(2, { state: 'completed', cause: 'xstate.done.actor.modelCall', spend });
    expect(timelineLines([step(1), second], plain)).toEqual([
      '  STEP  TIME          STATE      TURN  AFTER                     SPENT',
      '     1  21:58:19.105  callModel     1  run.started            0 tokens',
      '     2  21:58:19.106  completed     1  modelCall is done  1,234 tokens  $0.0012',
    ]);
  });

  it('names the day once there are two', () => {
    const lines = timelineLines([step(1), step(2, { atMs: at + 86_400_000 })], plain);
    expect(lines[1]).toContain('2026-11-29 21:58:19.105');
    expect(lines[2]).toContain('2026-11-30 21:58:19.104');
  });

  it('shows the beginning and the end of a long story', () => {
    const steps = Array.from({ length: 500 }, (_, index) => step(index + 1));
    const lines = timelineLines(steps, plain);
    expect(lines).toHaveLength(62);
    expect(lines[11]).toBe('  … 440 steps between; --json has them all');
    expect(lines[10]).toMatch(/^ +10 /);
    expect(lines[12]).toMatch(/^ +451 /);
    expect(lines.at(-1)).toMatch(/^ +500 /);
  });
});
