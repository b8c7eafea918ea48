import { describe, expect, it } from 'vitest';
import { type StopReason, stopReasons } from '../../src/core/reply.ts';
import * as routing from '../../src/core/routing.ts';
import type { RunContext } from '../../src/core/run-context.ts';
import { sampleRun } from './sample-run.ts';

const runWith = (change: Partial<RunContext>): RunContext => ({ ...sampleRun(), ...change });

it.each<[StopReason | null, string]>([
  ['end_turn', 'nothing'],
  ['stop_sequence', 'nothing'],
  ['tool_use', 'nothing'],
  ['max_tokens', 'continuation, cut text'],
  ['pause_turn', 'continuation'],
  ['compaction', 'continuation'],
  ['refusal', 'refusal'],
  ['model_context_window_exceeded', 'full context'],
  ['unknown', 'nothing'],
  [null, 'nothing'],
])('the stop reason %s leads to %s', (stopReason, expected) => {
  const context = runWith({ stopReason });
  const answers = [
    routing.needsContinuation(context) && 'continuation',
    routing.isTextCut(context) && 'cut text',
    routing.isRefusal(context) && 'refusal',
    routing.isContextFull(context) && 'full context',
  ].filter(Boolean);
  expect(answers.join(', ') || 'nothing').toBe(expected);
});

it('knows every stop reason of the list', () => {
  expect(stopReasons).toHaveLength(8);
});

describe('a text that was cut at the output limit', () => {
  it.each<[string, Partial<RunContext>, 'stop' | 'continue', boolean]>([
    ['ends the run', { cutCalls: 0 }, 'stop', true],
    ['goes on where that is wanted', { cutCalls: 0 }, 'continue', false],
    ['goes on when a call was cut: its answer asks again', { cutCalls: 1 }, 'stop', false],
  ])('%s', (_, change, onTruncated, expected) => {
    const { settings } = sampleRun({ onTruncated });
    expect(routing.isTextCut(runWith({ stopReason: 'max_tokens', settings, ...change }))).toBe(
      expected,
    );
  });
});

it.each([
  [0, true],
  [routing.maxContinuations - 1, true],
  [routing.maxContinuations, false],
])('a reply that was continued %i times may be continued: %s', (continuations, expected) => {
  expect(routing.mayContinue(runWith({ continuations }))).toBe(expected);
});

it.each([
  ['max_tokens', 'maxContinuations'],
  ['pause_turn', 'maxPauses'],
  ['compaction', 'maxPauses'],
] as const)('a reply that stopped with %s too often reached %s', (stopReason, name) => {
  const reached = routing.continuationsReached(runWith({ stopReason, continuations: 5 }));
  expect(reached).toEqual({ name, used: 5, max: 5 });
});

it('has more to say once something was steered', () => {
  expect(routing.hasMoreToSay(runWith({ steered: [] }))).toBe(false);
  expect(routing.hasMoreToSay(runWith({ steered: [{ type: 'text', text: 'x' }] }))).toBe(true);
});

describe('canCompact', () => {
  const message = sampleRun().messages[0] ?? { role: 'user', content: [] };
  it.each([
    ['without a strategy', null, 9, 0, false],
    ['of a transcript that is too short', 100, 2, 0, false],
    ['of a longer one', 100, 3, 0, true],
    ['at a length that was already tried', 100, 9, 9, false],
    ['at a new length', 100, 10, 9, true],
  ])('%s', (_, compactAtTokens, length, compactedLength, expected) => {
    const messages = Array.from({ length }, () => message);
    const { settings } = sampleRun({ compactAtTokens });
    expect(routing.canCompact(runWith({ settings, messages, compactedLength }))).toBe(expected);
  });
});
