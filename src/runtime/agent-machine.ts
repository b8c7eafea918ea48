/** Gives the machines their effects. The result is one ordinary XState machine, shared by all runs of an agent. */
import { agentLoop } from '../../machines/agent-loop.ts';
import type { Compaction } from '../../machines/agent-loop-events.ts';
import { modelCall } from '../../machines/model-call.ts';
import { toolCall } from '../../machines/tool-call.ts';
import { copyJson } from '../core/copy-json.ts';
import { PawlError } from '../core/errors.ts';
import { type HistoryProblem, historyProblems, repairHistory } from '../core/history.ts';
import type { Message } from '../core/message.ts';
import type { AgentParts } from './agent-parts.ts';
import { backOff, type EffectArgs, effect, type Unmetered, until } from './effect.ts';
import { attemptEffect } from './model-effect.ts';
import { plainContext } from './plain-context.ts';
import { openPlainRun } from './plain-run.ts';
import { probeTool } from './probe-effect.ts';
import { contextOf } from './services.ts';
import { acquireSlot, checkPermission, runTool, validateInput } from './tool-effects.ts';

export type AgentMachine = typeof agentLoop;

export function agentMachine(parts: AgentParts): AgentMachine {
  const model = plainContext(
    modelCall.provide({ actors: { until: backOff, attempt: attemptEffect(parts) } }),
  );
  const tool = plainContext(
    toolCall.provide({
      actors: {
        until: backOff,
        validateInput: validateInput(parts),
        checkPermission: checkPermission(parts),
        slot: acquireSlot(parts),
        runTool: runTool(parts),
        probeTool: probeTool(parts),
      },
    }),
  );
  const actors = { modelCall: model, toolCall: tool, compact: compactEffect(parts), until };
  return plainContext(agentLoop.provide({ actors }), (run) => openPlainRun(parts, run));
}

const compactEffect = (parts: AgentParts) =>
  effect<Compaction, { readonly turn: number }>((args) => compact(parts, args), { messages: null });

/** Without a strategy the transcript stays as it is. A strategy's answer is checked: it becomes the history. */
async function compact(
  parts: AgentParts,
  { self, signal }: EffectArgs<{ readonly turn: number }>,
): Promise<Unmetered<Compaction>> {
  const { messages } = contextOf(self);
  if (parts.compact === null) return { messages };
  const copies = copyJson(repairHistory(messages));
  const shorter = copyJson(repairHistory(await parts.compact({ messages: copies, signal })));
  const [problem] = [...historyProblems(shorter), ...wrongEnd(messages, shorter)];
  if (shorter.length > 0 && !problem) return { messages: shorter };
  throw new PawlError(
    'compaction_failed',
    `The compaction gave no valid history: ${problem ? `${problem.path}: ${problem.problem}` : 'it is empty'}.`,
  );
}

/** Only a paused turn ends with the model's own message; a summary that does would be taken for one. */
const wrongEnd = (
  before: readonly Message[],
  after: readonly Message[],
): readonly HistoryProblem[] =>
  after.at(-1)?.role === 'assistant' && before.at(-1)?.role !== 'assistant'
    ? [{ path: `messages[${after.length - 1}]`, problem: 'it ends with a message of the model' }]
    : [];
