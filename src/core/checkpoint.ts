/**
 * The stored form of a run: what only grows, or never changes, is stored once and left out of the checkpoint. Its size
 * does not depend on the length of the run. `compact` and `expand` are each other's inverse.
 */
import type { Json } from './json.ts';
import type { Message, ToolResult } from './message.ts';
import type { RunContext, RunSettings } from './run-context.ts';
import type { ToolCall } from './tool-call.ts';

/** A persisted snapshot of the agent loop, as far as its context is concerned. */
interface WithContext {
  readonly context: unknown;
}

export interface RunParts {
  readonly settings: RunSettings;
  readonly checkpoint: { readonly [key: string]: Json };
  readonly messages: readonly Message[];
  /** Results of the open batch of calls. */
  readonly results: readonly ToolResult[];
}

type StoredCall = Omit<ToolCall, 'result'> & { readonly isSettled: boolean };
type StoredContext = Omit<RunContext, 'settings' | 'messages' | 'calls'> & {
  readonly messages: number;
  readonly calls: readonly StoredCall[];
};

export function compact(snapshot: WithContext): RunParts {
  const { settings, messages, calls, ...small } = snapshot.context as RunContext;
  const context: StoredContext = {
    ...small,
    messages: messages.length,
    calls: calls.map(({ result, ...call }) => ({ ...call, isSettled: result !== null })),
  };
  return {
    settings,
    messages,
    results: calls.flatMap(({ result }) => result ?? []),
    checkpoint: { ...snapshot, context } as unknown as RunParts['checkpoint'],
  };
}

/** The snapshot again. A settled call whose result is missing comes back open: the caller checks what it reads. */
export function expand<Snapshot extends WithContext>(parts: RunParts): Snapshot {
  const stored = parts.checkpoint as unknown as { readonly context: StoredContext };
  const results = new Map(parts.results.map((result) => [result.tool_use_id, result]));
  const context: RunContext = {
    ...stored.context,
    settings: parts.settings,
    messages: parts.messages.slice(0, stored.context.messages),
    calls: stored.context.calls.map(({ isSettled, ...call }) => ({
      ...call,
      result: isSettled ? (results.get(call.id) ?? null) : null,
    })),
  };
  return { ...stored, context } as unknown as Snapshot;
}
