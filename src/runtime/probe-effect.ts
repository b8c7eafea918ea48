import type { ToolCallRef } from '../../machines/tool-call-events.ts';
import type { ProbeOutcome } from '../core/tool-call.ts';
import { isToolOutput, type Tool } from '../tools/tool.ts';
import { resultOf } from '../tools/tool-result.ts';
import type { AgentParts } from './agent-parts.ts';
import { type EffectArgs, effect, type Unmetered } from './effect.ts';
import { parseInTime } from './in-time.ts';
import {
  idempotencyKeyOf,
  inToolTime,
  maxCharsOf,
  type Work,
  withEditNotice,
  workOf,
} from './tool-work.ts';

/** Asks a tool what became of a call that was lost. It only looks, so a crash meanwhile lets it look again. */
export const probeTool = (parts: AgentParts) =>
  effect<ProbeOutcome, ToolCallRef>((args) => probe(parts, args), { kind: 'lost' });

const unknown = { kind: 'unknown' } as const;

async function probe(
  parts: AgentParts,
  args: EffectArgs<ToolCallRef>,
): Promise<Unmetered<ProbeOutcome>> {
  const { signal } = args;
  const work = workOf(parts, args.self, args.input.callId);
  const { tool } = work;
  if (!tool?.probe) return unknown;
  try {
    const parsed = await parseInTime(tool, work.input, signal);
    if (!parsed.ok) return unknown;
    const answer = await ask(tool, tool.probe, work, args, parsed.value);
    return read(parts, tool, work, answer);
  } catch {
    signal.throwIfAborted();
    return unknown;
  }
}

const ask = (
  tool: Tool,
  look: NonNullable<Tool['probe']>,
  work: Work,
  { input: { callId, attempt }, signal }: EffectArgs<ToolCallRef>,
  input: unknown,
): Promise<unknown> =>
  inToolTime(tool, signal, (own) =>
    look(idempotencyKeyOf(work), { signal: own.signal, input, runId: work.runId, callId, attempt }),
  );

/** A type can't hold a tool's author to it, and a wrong "no" would let the call act twice. */
function read(parts: AgentParts, tool: Tool, work: Work, answer: unknown): Unmetered<ProbeOutcome> {
  if (typeof answer !== 'object' || answer === null) return unknown;
  const { happened, result: output } = answer as { happened?: unknown; result?: unknown };
  if (happened === false) return { kind: 'notHappened' };
  if (happened !== true) return unknown;
  const { result, costMicros } = resultOf(work.use.id, output, {
    maxChars: maxCharsOf(parts, tool),
  });
  return {
    kind: 'happened',
    result: withEditNotice(result, work.call),
    costMicros: isToolOutput(output) ? costMicros : null,
  };
}
