/** Turns what a run's machine does into events for people and programs. */
import type { AnyActorRef, AnyMachineSnapshot, SnapshotFrom } from 'xstate';
import type { agentLoop } from '../../machines/agent-loop.ts';
import type { ToolResult } from '../core/message.ts';
import { toolUsesIn } from '../core/message.ts';
import type { RunContext } from '../core/run-context.ts';
import type { ToolEnding } from '../core/tool-call.ts';
import type { Emit } from './services.ts';

/** The state as people name it: `callModel`, `executeTools.waiting`, `paused`. */
export function stateName(value: unknown): string {
  if (typeof value === 'string') return value;
  const [[key, inner] = ['', '']] = Object.entries(value as object);
  const rest = stateName(inner);
  return key === 'active' ? rest : `${key}.${rest}`;
}

/**
 * Tells each state that the run enters, also those it passes through, that a budget is wanted, and the end
 * of each tool use, once, whether its call ran, was answered unrun, or was closed by the run's end.
 */
export function watchSteps(
  emit: Emit,
  run: AnyActorRef,
): {
  /** The steps that the run took at one event. */
  readonly look: (steps: readonly AnyMachineSnapshot[]) => void;
  /** For a change that the machine does not make itself. */
  readonly note: (context: RunContext) => void;
} {
  const start = run.getSnapshot() as SnapshotFrom<typeof agentLoop>;
  const noteCalls = watchCalls(emit, start.context);
  const enter = (state: string, { limit }: RunContext): void => {
    emit({ type: 'state.entered', state });
    if (state === 'awaitBudget') emit({ type: 'budget.wanted', limit });
  };
  let last = stateName(start.value);
  enter(last, start.context);
  const see = ({ value, context }: AnyMachineSnapshot): void => {
    noteCalls(context);
    const state = stateName(value);
    if (state !== last) enter(state, context);
    last = state;
  };
  return { look: (steps) => steps.forEach(see), note: noteCalls };
}

function watchCalls(emit: Emit, start: RunContext): (context: RunContext) => void {
  let before = start;
  const told = new Set(start.calls.filter(({ result }) => result).map(({ id }) => id));
  const tell = (callId: string, name: string, ending: ToolEnding, result: ToolResult): void => {
    if (told.has(callId)) return;
    told.add(callId);
    emit({ type: 'tool.settled', callId, name, ending, result });
  };
  return (context) => {
    for (const { id, name, ending, result } of context.calls) {
      if (result) tell(id, name, ending ?? 'notRun', result);
    }
    if (context.messages !== before.messages) tellClosed(before, context, tell);
    if (context.calls.length === 0) told.clear();
    before = context;
  };
}

/** Results that joined the transcript since: a reply and its answers may have come in one step. */
function tellClosed(
  before: RunContext,
  { messages }: RunContext,
  tell: (callId: string, name: string, ending: ToolEnding, result: ToolResult) => void,
): void {
  const from = Math.min(before.messages.length, messages.length);
  for (const [index, message] of messages.slice(from).entries()) {
    if (message.role !== 'user') continue;
    const asked = toolUsesIn(messages[from + index - 1]);
    const names = new Map(asked.map(({ id, name }) => [id, name]));
    for (const block of message.content) {
      if (block.type !== 'tool_result') continue;
      const call = before.calls.find(({ id }) => id === block.tool_use_id);
      const ending = call?.ending ?? (call?.isRunning ? 'stopped' : 'notRun');
      tell(block.tool_use_id, names.get(block.tool_use_id) ?? '', ending, block);
    }
  }
}

/** Waits and warnings, as the machine emits them. */
export function watchWaits(emit: Emit, actor: AnyActorRef): void {
  const contextNow = (): RunContext => actor.getSnapshot().context;
  actor.on('call.waits', ({ callId, wait }) => {
    const use = toolUsesIn(contextNow().messages.at(-1)).find(({ id }) => id === callId);
    if (!use) return;
    const { name, input } = use;
    if (wait.for === 'settlement') emit({ type: 'settlement.wanted', callId, name, input });
    else {
      const { argumentsHash } = wait;
      emit({ type: 'approval.wanted', callId, name, input, argumentsHash });
    }
  });
  actor.on('limit.near', ({ limit }) => emit({ type: 'limit.near', limit }));
}
