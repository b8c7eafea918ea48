/**
 * Can this version go on from a snapshot? One that can't be gone on from would be a run that waits for ever, or spends
 * what it may not, so it is refused while nothing has happened yet.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { agentLoop } from '../../machines/agent-loop.ts';
import { modelCall } from '../../machines/model-call.ts';
import { toolCall } from '../../machines/tool-call.ts';
import { openCalls } from '../core/call-steps.ts';
import { contextProblem } from '../core/context-shape.ts';
import { PawlError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import { type RunContext, schemaVersion } from '../core/run-context.ts';
import type { RunSnapshot } from '../stores/store.ts';
import { checkRunId } from './checks.ts';

/** Is this a snapshot of an agent loop that this version can read? Looks at what it needs to say so clearly. */
export function checkSnapshot(value: unknown): {
  readonly snapshot: RunSnapshot;
  readonly runId: string;
} {
  const snapshot = value as Partial<RunSnapshot> | null;
  const context = snapshot?.context as { schemaVersion?: unknown; settings?: unknown } | undefined;
  if (typeof snapshot !== 'object' || typeof context?.schemaVersion !== 'number') {
    throw new PawlError(
      'snapshot_incompatible',
      'snapshot: expected a snapshot of a run (what run.snapshot() gave), or a run id, got something else. It was left as it is.',
    );
  }
  if (context.schemaVersion !== schemaVersion) {
    throw new PawlError(
      'snapshot_incompatible',
      `snapshot: expected schema version ${schemaVersion}, got ${context.schemaVersion}. Resume it with the version of Pawl that saved it, or a newer one. It was left as it is.`,
    );
  }
  if (snapshot?.status === 'stopped') {
    throw new PawlError(
      'snapshot_incompatible',
      'snapshot: expected one of a run that can go on, got one of an actor that was stopped. Persist an actor before it is stopped.',
    );
  }
  const problem = contextProblem(context);
  if (problem) throw unreadable(`a run's context with ${problem.expected}, got ${problem.got}`);
  const broken = frameProblem(snapshot, agentLoop) ?? missingCall(snapshot ?? {}, context);
  if (broken) throw unreadable(`${broken}, got something else`);
  const { runId } = (context.settings ?? {}) as { readonly runId?: unknown };
  return { snapshot: snapshot as RunSnapshot, runId: checkRunId(runId) };
}

const unreadable = (what: string): PawlError =>
  new PawlError('snapshot_incompatible', `snapshot: expected ${what}. It was left as it is.`);

const childMachines: ReadonlyMap<unknown, AnyStateMachine> = new Map<unknown, AnyStateMachine>([
  ['modelCall', modelCall],
  ['toolCall', toolCall],
]);

/** What a snapshot of this machine lacks, or a snapshot of a child in it; null when it is whole. */
function frameProblem(snapshot: unknown, machine: AnyStateMachine): string | null {
  if (!isJsonObject(snapshot)) return `a snapshot of ${machine.id}`;
  const { status, value, context, children } = snapshot;
  if (status !== 'active' && status !== 'done' && status !== 'error') {
    return `${machine.id} with the status active, done or error`;
  }
  if (!isJsonObject(context)) return `${machine.id} with a context`;
  if (!isJsonObject(children)) return `${machine.id} with its children`;
  const nodes = statesAt(machine.root, value);
  if (nodes === null && status !== 'error') return `${machine.id} in a state that it has`;
  const missing = (nodes ?? [])
    .flatMap(({ invoke }) => invoke.map(({ id }) => id))
    .find((id) => !Object.hasOwn(children, id));
  if (missing !== undefined) return `${machine.id} with its child ${missing}`;
  return childProblem(Object.values(children), machine.id);
}

function childProblem(children: readonly unknown[], parent: string): string | null {
  for (const child of children) {
    if (!isJsonObject(child) || !isJsonObject(child.snapshot))
      return `${parent} with whole children`;
    const machine = childMachines.get(child.src);
    const problem = machine ? frameProblem(child.snapshot, machine) : null;
    if (problem) return problem;
  }
  return null;
}

/** The states on the way down to the one that the value names; null when there is no such way to an end. */
function statesAt(node: AnyStateNode, value: unknown): readonly AnyStateNode[] | null {
  const [[name, inner] = ['', null], ...others] = isJsonObject(value)
    ? Object.entries(value)
    : [[String(value), null] as const];
  const child = Object.hasOwn(node.states, name) ? node.states[name] : undefined;
  if (!child || others.length > 0) return null;
  if (Object.keys(child.states).length === 0) return inner === null ? [child] : null;
  const below = inner === null ? null : statesAt(child, inner);
  return below && [child, ...below];
}

/** A call without its child would never be answered. */
function missingCall({ value, children }: Partial<RunSnapshot>, context: unknown): string | null {
  if (!JSON.stringify(value).includes('"executeTools"') || !isJsonObject(children)) return null;
  const lost = openCalls(context as RunContext).find(
    ({ id }) => !Object.hasOwn(children, `tool.${id}`),
  );
  return lost ? `agent-loop with its child tool.${lost.id}` : null;
}
