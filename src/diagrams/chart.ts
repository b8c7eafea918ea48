/** A machine's states and transitions as plain data: what the pictures, the editor export and the tests read. */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { findInlineParts, type InlinePart, nameOf } from './inline-parts.ts';

/** `path` is the state's keys joined by dots (`''` for the root; a dot inside a key is written `\.`). */
export interface ChartState {
  readonly path: string;
  readonly id: string;
  readonly key: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly history: 'shallow' | 'deep' | null;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly invokes: readonly ChartInvoke[];
  /** Path of the child that is entered first; null when there is none. */
  readonly initial: string | null;
  readonly edges: readonly ChartEdge[];
  readonly states: readonly ChartState[];
}

export interface ChartInvoke {
  readonly id: string;
  readonly src: string;
}

export type EdgeKind = 'event' | 'always' | 'done' | 'error' | 'after' | 'snapshot';

/** One branch of a transition. `source` and `targets` are paths; no targets means that the state stays as it is. */
export interface ChartEdge {
  readonly source: string;
  readonly targets: readonly string[];
  readonly kind: EdgeKind;
  /** The event descriptor as XState knows it; `''` for an `always` edge. */
  readonly event: string;
  /** The actor that ended or failed, or the delay of an `after`; null for all else. */
  readonly subject: string | null;
  readonly guard: string | null;
  /** Place among the branches of the same event, from 1: they are tried in this order. */
  readonly branch: number;
  readonly branches: number;
  readonly actions: readonly string[];
  readonly reenter: boolean;
  readonly isInternal: boolean;
  readonly description: string | null;
}

export interface Chart {
  readonly id: string;
  readonly description: string | null;
  readonly root: ChartState;
  /** What the config holds as code instead of a name. Empty but for `data` when the config is a complete static form. */
  readonly inlineParts: readonly InlinePart[];
}

/** Describes a machine without running it. Guarded branches keep their order. */
export function chartOf(machine: AnyStateMachine): Chart {
  return {
    id: machine.id,
    description: machine.root.description ?? null,
    root: stateOf(machine.root),
    inlineParts: findInlineParts(machine.config),
  };
}

/** The state and all states inside it, parents first, in the order of the config. */
export function allStates(state: ChartState): readonly ChartState[] {
  return [state, ...state.states.flatMap(allStates)];
}

/** Whether `path` names a state inside the state `ancestor`; a state is not inside itself. */
export function isInside(path: string, ancestor: string): boolean {
  return path !== ancestor && (ancestor === '' || path.startsWith(`${ancestor}.`));
}

function stateOf(node: AnyStateNode): ChartState {
  return {
    path: pathOf(node),
    id: node.id,
    key: node.key,
    type: node.type,
    history: node.history === false ? null : node.history,
    description: node.description ?? null,
    tags: [...node.tags],
    // From the config: the node's own lists also hold the timers of `after`.
    entry: listOf(node.config.entry).map(nameOf),
    exit: listOf(node.config.exit).map(nameOf),
    invokes: node.invoke.map(invokeOf),
    initial: initialOf(node),
    edges: edgesOf(node),
    states: Object.values(node.states).map(stateOf),
  };
}

function listOf(items: unknown): readonly unknown[] {
  if (items === undefined) return [];
  return Array.isArray(items) ? items : [items];
}

function pathOf(node: AnyStateNode): string {
  return node.path.map((key) => key.replaceAll('.', '\\.')).join('.');
}

function initialOf(node: AnyStateNode): string | null {
  const [first] = node.type === 'compound' ? node.initial.target : [];
  return first === undefined ? null : pathOf(first);
}

function invokeOf({ id, src }: { readonly id: string; readonly src: unknown }): ChartInvoke {
  const name = nameOf(src);
  return { id, src: name.startsWith('xstate.invoke.') ? 'inline actor' : name };
}

function edgesOf(node: AnyStateNode): readonly ChartEdge[] {
  const always = branchesOf(node.always ?? []);
  return [...always, ...[...node.transitions.values()].flatMap(branchesOf)];
}

function branchesOf(transitions: readonly AnyTransitionDefinition[]): readonly ChartEdge[] {
  return transitions.map((transition, index) => ({
    source: pathOf(transition.source),
    targets: (transition.target ?? []).map(pathOf),
    ...causeOf(transition),
    guard: transition.guard === undefined ? null : nameOf(transition.guard),
    branch: index + 1,
    branches: transitions.length,
    actions: transition.actions.map(nameOf),
    reenter: transition.reenter,
    isInternal: transition.target === undefined,
    description: transition.description ?? null,
  }));
}

const ownEvents: readonly (readonly [prefix: string, kind: EdgeKind])[] = [
  ['xstate.done.actor.', 'done'],
  ['xstate.error.actor.', 'error'],
  ['xstate.snapshot.', 'snapshot'],
];

function causeOf(
  transition: AnyTransitionDefinition,
): Pick<ChartEdge, 'kind' | 'event' | 'subject'> {
  const event: string = transition.eventType;
  if (event === '') return { kind: 'always', event, subject: null };
  if (event.startsWith('xstate.done.state.')) return { kind: 'done', event, subject: null };
  if ('delay' in transition) return { kind: 'after', event, subject: String(transition.delay) };
  for (const [prefix, kind] of ownEvents) {
    if (event.startsWith(prefix)) return { kind, event, subject: event.slice(prefix.length) };
  }
  return { kind: 'event', event, subject: null };
}
