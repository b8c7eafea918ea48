/** Runs that are played by hand, and ways to read them. */
import type { EventFrom, InputFrom, SnapshotFrom } from 'xstate';
import { agentLoop } from '../../machines/agent-loop.ts';
import { type ContentBlock, type ToolResult, text, userMessage } from '../../src/core/message.ts';
import { type Play, play } from './driver.ts';
import {
  asksFor,
  lost,
  modelBroke,
  modelDone,
  runInput,
  says,
  toolUse,
  waitsForApproval,
} from './samples.ts';

export type Loop = typeof agentLoop;
export type LoopEvent = EventFrom<Loop>;
export type Snapshot = SnapshotFrom<Loop>;

export const playRun = (input: InputFrom<Loop> = runInput()): Play<Loop> => play(agentLoop, input);

/** The state as people name it, without the levels that every running state has. */
export function stateOf({ value }: Snapshot): string {
  if (typeof value === 'string') return value;
  const active = value.active ?? '';
  return typeof active === 'string' ? active : `executeTools.${active.executeTools}`;
}

export const resultsIn = ({ context }: Snapshot): readonly ToolResult[] =>
  context.messages.flatMap(({ content }) =>
    content.filter((block) => block.type === 'tool_result'),
  );

export const resultTexts = (snapshot: Snapshot): readonly unknown[] =>
  resultsIn(snapshot).map(({ content }) => content);

export const lastContent = ({ context }: Snapshot): readonly ContentBlock[] =>
  context.messages.at(-1)?.content ?? [];

export const cancelled: LoopEvent = { type: 'run.cancelled', reason: 'enough' };
export const timeIsUp: LoopEvent = { type: 'time.ranOut', activeMs: 1_000 };
export const steer = (said: string): LoopEvent => ({
  type: 'message.steered',
  content: [text(said)],
});

export const compacting = { compactAtTokens: 9_000 } as const;
export const oneCall = modelDone(asksFor(toolUse('a', 'mail')));

/** Events that lead a new run to each of its states. */
export const waysTo: readonly (readonly [
  state: string,
  input: InputFrom<Loop>,
  events: LoopEvent[],
])[] = [
  ['callModel', runInput(), []],
  ['executeTools.working', runInput(), [oneCall]],
  ['executeTools.waiting', runInput(), [oneCall, waitsForApproval('a')]],
  [
    'compactContext',
    runInput({ settings: compacting, messages: [userMessage('1'), userMessage('2')] }),
    [modelDone(says('part', 'model_context_window_exceeded'))],
  ],
  [
    'wrapUp',
    runInput({ settings: { onLimit: 'wrapUp' }, limits: { maxTurns: 2 } }),
    [modelDone(says('part', 'pause_turn'))],
  ],
  ['awaitBudget', runInput({ settings: { onLimit: 'ask' }, limits: { maxTurns: 0 } }), []],
  ['paused', runInput(), [{ type: 'run.paused' }, modelDone(lost)]],
  ['completed', runInput(), [modelDone(says('done'))]],
  ['exhausted', runInput({ limits: { maxTurns: 0 } }), []],
  ['refused', runInput(), [modelDone(says('no', 'refusal'))]],
  ['failed', runInput(), [modelBroke]],
  ['cancelled', runInput(), [cancelled]],
];
export const livingStates = waysTo.filter(
  ([state]) => !/^[a-z]+ed$/.test(state) || state === 'paused',
);
