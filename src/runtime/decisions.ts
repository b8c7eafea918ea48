/** What a person decides about calls that wait, from a run's handle to its machine. */
import { isApprovable, openCall } from '../core/call-steps.ts';
import { copyJson } from '../core/copy-json.ts';
import { PawlError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { toolUsesIn } from '../core/message.ts';
import type { RunContext } from '../core/run-context.ts';
import type { Wait } from '../core/tool-call.ts';
import type { AgentParts } from './agent-parts.ts';
import { parseInTime } from './in-time.ts';
import { finished, type LiveRun } from './live-run.ts';
import type { PendingCall, Run } from './run.ts';
import { checkApproval, checkCallId, checkDenial, checkSettlement } from './run-checks.ts';

export function decisionsFor(
  live: LiveRun,
  parts: AgentParts,
): Pick<Run, 'approve' | 'deny' | 'settle' | 'retry'> {
  const decide = async (event: Parameters<LiveRun['send']>[0]): Promise<void> => {
    live.send(event);
    await live.saved();
  };
  return {
    async approve(callId, options = {}) {
      checkApproval(callId, options);
      const input = copyJson(options.input);
      const waits = waitOf(live, callId, 'approval');
      const argumentsHash = options.argumentsHash ?? hashIn(waits);
      if (input !== undefined) await checkEdit(parts, live.contextNow(), callId, input);
      if (!isApprovable(live.contextNow(), callId, argumentsHash)) throw staleApproval(callId);
      const edit = input === undefined ? {} : { input };
      await decide({ type: 'approval.granted', callId, argumentsHash, ...edit });
    },
    async deny(callId, reason) {
      checkDenial(callId, reason);
      waitOf(live, callId, 'approval');
      await decide({ type: 'approval.denied', callId, ...(reason !== undefined && { reason }) });
    },
    async settle(callId, outcome) {
      checkSettlement(callId, outcome);
      const { content, isError = false } = outcome;
      waitOf(live, callId, 'settlement');
      await decide({ type: 'call.settled', callId, content, isError });
    },
    async retry(callId) {
      checkCallId(callId);
      waitOf(live, callId, 'settlement');
      await decide({ type: 'call.retried', callId });
    },
  };
}

export function pendingCalls(context: RunContext): readonly PendingCall[] {
  const uses = new Map(toolUsesIn(context.messages.at(-1)).map((use) => [use.id, use]));
  return context.calls.flatMap(({ id, name, waits, result }) =>
    waits && !result
      ? [{ callId: id, name, input: copyJson(uses.get(id)?.input ?? null), waits: { ...waits } }]
      : [],
  );
}

function waitOf(live: LiveRun, callId: string, kind: Wait['for']): Wait {
  if (live.isOver()) throw finished(live.runId);
  const waits = openCall(live.contextNow(), callId)?.waits;
  if (waits?.for === kind) return waits;
  throw notAwaiting(live.contextNow(), callId, kind);
}

const hashIn = (waits: Wait): string => (waits.for === 'approval' ? waits.argumentsHash : '');

async function checkEdit(
  { tools }: AgentParts,
  context: RunContext,
  callId: string,
  input: Json,
): Promise<void> {
  const name = openCall(context, callId)?.name ?? '';
  const tool = tools.get(name);
  if (!tool) return;
  const parsed = await parseInTime(tool, input, new AbortController().signal);
  if (parsed.ok) return;
  throw new PawlError(
    'invalid_tool_input',
    `The input given for call "${callId}" does not fit ${name}: ${parsed.problem}`,
  );
}

export const staleApproval = (callId: string): PawlError =>
  new PawlError(
    'not_awaiting',
    `The approval does not fit call "${callId}": its arguments or its tool are not what was shown. Look at it again.`,
  );

export function notAwaiting(context: RunContext, callId: string, kind: Wait['for']): PawlError {
  const isKnown = context.messages.some((message) =>
    toolUsesIn(message).some(({ id }) => id === callId),
  );
  return isKnown
    ? new PawlError(
        'not_awaiting',
        `Call "${callId}" does not wait for ${kind === 'approval' ? 'an approval' : 'a settlement'} (any more).`,
      )
    : new PawlError('unknown_tool_use', `There is no tool use "${callId}" in this run.`);
}
