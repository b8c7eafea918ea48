/** Visits every state that a machine can reach. */
import type {
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  EventFrom,
  InputFrom,
  SnapshotFrom,
} from 'xstate';
import { type AdjacencyValue, getAdjacencyMap } from 'xstate/graph';
import { driverOf } from './driver.ts';

export interface Exploration<Machine extends AnyStateMachine> {
  readonly states: readonly SnapshotFrom<Machine>[];
  /** `from` and `to` are indexes into `states`; `next` is what the step itself gave, one of those that are `to`. */
  readonly edges: readonly {
    readonly from: number;
    readonly to: number;
    readonly event: EventFrom<Machine>;
    readonly next: SnapshotFrom<Machine>;
  }[];
  readonly taken: ReadonlySet<AnyTransitionDefinition>;
}

type Node<Machine extends AnyStateMachine> = AdjacencyValue<
  SnapshotFrom<Machine>,
  EventFrom<Machine>
>;

/** `events` are all that may happen in a state; those that would change nothing are left out. */
export function explore<Machine extends AnyStateMachine>(
  machine: Machine,
  input: InputFrom<Machine>,
  events: (snapshot: SnapshotFrom<Machine>) => readonly EventFrom<Machine>[],
): Exploration<Machine> {
  const driver = driverOf(machine, input);
  const keys = new WeakMap<object, string>();
  const keyed = (snapshot: AnyMachineSnapshot): string => {
    const key = keys.get(snapshot) ?? keyOf(snapshot);
    keys.set(snapshot, key);
    return key;
  };
  const logic: AnyStateMachine = Object.assign(Object.create(machine), {
    getInitialSnapshot: () => driver.first,
    transition: (snapshot: SnapshotFrom<Machine>, event: EventFrom<Machine>) =>
      driver.send(snapshot, event),
  });
  const map = getAdjacencyMap(logic, {
    input,
    limit: 1_000_000,
    serializeState: keyed,
    filterEvents: (snapshot, event) => snapshot.status === 'active' && snapshot.can(event),
    events: (snapshot) => events(snapshot as SnapshotFrom<Machine>),
  });
  const nodes = Object.values(map) as unknown as readonly Node<Machine>[];
  const indexes = new Map(nodes.map(({ state }, index) => [keyed(state), index]));
  return {
    states: nodes.map(({ state }) => state),
    edges: nodes.flatMap(({ transitions }, from) =>
      Object.values(transitions).map(({ event, state }) => ({
        from,
        to: indexes.get(keyed(state)) ?? -1,
        event,
        next: state,
      })),
    ),
    taken: driver.taken,
  };
}

/**
 * What makes two snapshots one state. Of a transcript only its length and its end count, and nothing counts that is
 * only told and never asked about.
 */
function keyOf({ status, value, context, children }: AnyMachineSnapshot): string {
  const { settings, messages, answer, rawStopReason, usage, warned, ...rest } = context;
  const seen = messages && [messages.length, messages.at(-1)];
  const states = Object.entries(children as Record<string, AnyActorRef>).map(([id, child]) => [
    id,
    child.getSnapshot().value,
  ]);
  return JSON.stringify([status, value, rest, seen, states.sort()]);
}

/** Indexes of the states from which no final state can be reached. */
export function deadEnds<Machine extends AnyStateMachine>({
  states,
  edges,
}: Exploration<Machine>): readonly number[] {
  const before = new Map<number, number[]>();
  for (const { from, to } of edges) {
    const known = before.get(to);
    if (known) known.push(from);
    else before.set(to, [from]);
  }
  const canEnd = new Set(states.flatMap(({ status }, index) => (status === 'done' ? [index] : [])));
  for (const index of canEnd) for (const from of before.get(index) ?? []) canEnd.add(from);
  return [...states.keys()].filter((index) => !canEnd.has(index));
}

/** Every transition of a machine's chart, with a name that says where it stands. */
export function transitionsOf(
  machine: AnyStateMachine,
): ReadonlyMap<AnyTransitionDefinition, string> {
  const branches = nodesOf(machine.root).flatMap((node) => [
    ...(node.always ?? []),
    ...[...node.transitions.values()].flat(),
  ]);
  return new Map(branches.map((one) => [one, nameOf(one)]));
}

const nodesOf = (node: AnyStateNode): readonly AnyStateNode[] => [
  node,
  ...Object.values(node.states).flatMap(nodesOf),
];

const nameOf = ({ source, eventType, guard, target }: AnyTransitionDefinition): string => {
  const condition = guard ? ` [${String(guard)}]` : '';
  const targets = (target ?? []).map(({ id }) => id).join();
  return `${source.id}: ${eventType || 'always'}${condition} → ${targets || 'stays'}`;
};
