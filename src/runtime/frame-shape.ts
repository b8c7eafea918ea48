/** Is it a machine's persisted snapshot: in a state that the machine has, with the children that the state wants? */
import { isDeepStrictEqual } from 'node:util';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { agentLoop } from '../../machines/agent-loop.ts';
import { modelCall } from '../../machines/model-call.ts';
import { toolCall } from '../../machines/tool-call.ts';
import type { ShapeProblem } from '../core/block-shape.ts';
import { contextProblem, isOutput } from '../core/context-shape.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { RunContext } from '../core/run-context.ts';
import {
  type Check,
  fieldPath,
  isOneOf,
  isShaped,
  leaf,
  orAbsent,
  ownField,
  plainProblem,
} from '../core/shape.ts';
import {
  effectOutputs,
  isModelCallContext,
  isModelOutcome,
  isToolCallContext,
  isToolOutcome,
} from './child-shapes.ts';

/** A state that the machine does not have: saved by a version whose machine had it. */
export interface ForeignState {
  readonly machine: string;
  readonly state: string;
}

export type FrameProblem = ShapeProblem & { readonly foreign?: ForeignState };

interface MachineShape {
  readonly machine: AnyStateMachine;
  readonly context: Check;
  readonly output: Check;
}

const runShape: MachineShape = {
  machine: agentLoop,
  context: contextProblem,
  output: isOutput,
};

/** By `src`. */
const childShapes: ReadonlyMap<string, MachineShape> = new Map([
  ['modelCall', { machine: modelCall, context: isModelCallContext, output: isModelOutcome }],
  ['toolCall', { machine: toolCall, context: isToolCallContext, output: isToolOutcome }],
]);

export const runProblem = (snapshot: unknown): FrameProblem | null =>
  machineProblem(snapshot, runShape, '');

function machineProblem(
  snapshot: unknown,
  { machine, context, output }: MachineShape,
  path: string,
): FrameProblem | null {
  const at = (field: string): string => fieldPath(path, field);
  const stranger = plainProblem(snapshot, path);
  if (stranger || !isJsonObject(snapshot)) return stranger;
  const field = (name: string): unknown => ownField(snapshot, name);
  const nodes = statesAt(machine.root, field('value'));
  return (
    isStatus(field('status'), at('status')) ??
    (nodes === null ? stateProblem(field('value'), machine, at('value')) : null) ??
    endProblem(field('status'), nodes ?? [], at('status')) ??
    context(field('context'), at('context')) ??
    (field('status') === 'done' ? output(field('output'), at('output')) : null) ??
    hasNoHistory(field('historyValue'), at('historyValue')) ??
    childrenProblem(snapshot, machine, nodes ?? [], at('children'))
  );
}

const isStatus = isOneOf('active', 'done', 'error');

/** Neither machine has history states. */
const hasNoHistory = orAbsent(
  leaf('an empty object', (value) => isJsonObject(value) && Object.keys(value).length === 0),
);

/** An actor that has ended in a state that goes on, or goes on in a final one, would never do anything. */
function endProblem(
  status: unknown,
  nodes: readonly AnyStateNode[],
  path: string,
): ShapeProblem | null {
  const isFinal = nodes.length === 1 && nodes[0]?.type === 'final';
  if (status === 'error' || (status === 'done') === isFinal) return null;
  return {
    path,
    expected: isFinal ? 'done, in a final state' : 'active, in its state',
    got: status,
  };
}

function stateProblem(value: unknown, { id }: AnyStateMachine, path: string): FrameProblem {
  const expected = `a state that ${id} has`;
  const state = stateText(value);
  if (state === null) return { path, expected, got: value };
  return { path, expected, got: state, foreign: { machine: id, state } };
}

const mostLevels = 8;
const mostChars = 120;

/** `active.callModel`; null when it is no single way down. */
function stateText(value: unknown): string | null {
  const names: string[] = [];
  let rest = value;
  for (let level = 0; level < mostLevels && isJsonObject(rest); level += 1) {
    const [name, ...others] = Object.keys(rest);
    if (name === undefined || others.length > 0) return null;
    names.push(name);
    rest = rest[name];
  }
  if (typeof rest !== 'string' || rest === '') return null;
  const text = [...names, rest].join('.');
  return text.length > mostChars ? `${text.slice(0, mostChars)}…` : text;
}

/** The states on the way down to the one that the value names; null when there is no such way to an end. */
function statesAt(node: AnyStateNode, value: unknown): readonly AnyStateNode[] | null {
  if (typeof value !== 'string' && !isJsonObject(value)) return null;
  const [[name, inner] = ['', null], ...others] =
    typeof value === 'string' ? [[value, null] as const] : Object.entries(value);
  const child = Object.hasOwn(node.states, name) ? node.states[name] : undefined;
  if (!child || others.length > 0) return null;
  if (Object.keys(child.states).length === 0) return inner === null ? [child] : null;
  const below = inner === null ? null : statesAt(child, inner);
  return below && [child, ...below];
}

type Invocation = AnyStateNode['invoke'][number];

/** A child too few would be waited for for ever; one too many does what nobody asked for. */
function childrenProblem(
  snapshot: JsonObject,
  machine: AnyStateMachine,
  nodes: readonly AnyStateNode[],
  path: string,
): FrameProblem | null {
  const children = ownField(snapshot, 'children');
  if (!isJsonObject(children)) return { path, expected: 'an object of children', got: children };
  if (ownField(snapshot, 'status') === 'error') return null;
  const invoked = new Map(nodes.flatMap(({ invoke }) => invoke.map((one) => [one.id, one])));
  for (const id of invoked.keys()) {
    const at = fieldPath(path, id);
    if (!Object.hasOwn(children, id)) return { path: at, expected: 'a child', got: undefined };
  }
  for (const [id, child] of Object.entries(children)) {
    const problem = oneChildProblem(child, id, invoked.get(id), snapshot, machine, path);
    if (problem) return problem;
  }
  return null;
}

function oneChildProblem(
  child: unknown,
  id: string,
  wanted: Invocation | undefined,
  parent: JsonObject,
  machine: AnyStateMachine,
  path: string,
): FrameProblem | null {
  const at = fieldPath(path, id);
  const within = fieldPath(at, 'snapshot');
  const src = wanted ? String(wanted.src) : spawnedSrc(machine, id);
  if (src === null) return { path: at, expected: 'no such child', got: child };
  return (
    isChild(src)(child, at) ??
    childProblem((child as JsonObject).snapshot, src, within) ??
    inputProblem(child as JsonObject, wanted, parent, within) ??
    (src === 'until' && !wanted ? deadlineProblem(child as JsonObject, parent, at) : null)
  );
}

/** The logic of a child that no state invokes. */
function spawnedSrc(machine: AnyStateMachine, id: string): string | null {
  if (machine !== agentLoop) return null;
  if (id === 'deadline') return 'until';
  return id.startsWith('tool.') ? 'toolCall' : null;
}

/** A watch that fires at another time than the run's would end what may go on. */
function deadlineProblem(
  child: JsonObject,
  { context }: JsonObject,
  path: string,
): ShapeProblem | null {
  const { deadlineAt } = (context as unknown as RunContext).ledger.limits;
  if (deadlineAt === null) return { path, expected: 'no such child', got: child };
  const { status, input } = child.snapshot as JsonObject;
  if (status !== 'active' || isDeepStrictEqual(input, { at: deadlineAt })) return null;
  const at = fieldPath(fieldPath(path, 'snapshot'), 'input');
  return { path: at, expected: `the deadline of the run (${deadlineAt})`, got: input };
}

const isChild = (src: string): Check =>
  isShaped({
    src: isOneOf(src),
    snapshot: isShaped({}),
    syncSnapshot: orAbsent(isOneOf(false)),
    systemId: orAbsent(leaf('nothing', () => false)),
  });

function childProblem(snapshot: unknown, src: string, path: string): FrameProblem | null {
  const shape = childShapes.get(src);
  if (shape) return machineProblem(snapshot, shape, path);
  const status = isShaped({ status: isStatus })(snapshot, path);
  if (status) return status;
  const { status: name, output } = snapshot as JsonObject;
  if (name !== 'done') return null;
  const isWhole = effectOutputs.get(src) ?? leaf('an output that is known', () => false);
  return isWhole(output, fieldPath(path, 'output'));
}

/** A child does what its input says, so it has to be the one that its state gives it. */
function inputProblem(
  child: JsonObject,
  wanted: Invocation | undefined,
  parent: JsonObject,
  path: string,
): ShapeProblem | null {
  const { status, input, context } = child.snapshot as JsonObject;
  if (!wanted || typeof wanted.input !== 'function') return null;
  const given: unknown = wanted.input({ context: parent.context, event: { type: '' } } as never);
  if (!childShapes.has(String(wanted.src))) {
    if (status !== 'active' || isDeepStrictEqual(plain(input), plain(given))) return null;
    return { path: fieldPath(path, 'input'), expected: 'the input of its state', got: input };
  }
  const { plan: _, ...fixed } = given as JsonObject;
  const field = Object.keys(fixed).find(
    (name) => !isDeepStrictEqual(plain((context as JsonObject)[name]), plain(fixed[name])),
  );
  if (field === undefined) return null;
  const at = fieldPath(fieldPath(path, 'context'), field);
  return { path: at, expected: 'what its state gave it', got: (context as JsonObject)[field] };
}

const plain = (value: unknown): unknown => (value === undefined ? null : value);
