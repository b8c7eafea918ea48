/** Drives a machine by hand: no child starts and no message is delivered; what the machine wants done is listed. */
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyTransitionDefinition,
  createActor,
  type EventFrom,
  fromCallback,
  type InputFrom,
  type SnapshotFrom,
} from 'xstate';

/** What a machine wants done: XState's own actions, such as `xstate.spawnChild`, with their parameters. */
export interface WantedAction {
  readonly type: string;
  readonly params: unknown;
}

export interface Driver<Machine extends AnyStateMachine> {
  readonly machine: Machine;
  readonly first: SnapshotFrom<Machine>;
  send(snapshot: SnapshotFrom<Machine>, event: EventFrom<Machine>): SnapshotFrom<Machine>;
  /** Of the last step. */
  readonly wanted: readonly WantedAction[];
  /** Every transition that was taken since the driver was made, also those in the middle of a step. */
  readonly taken: ReadonlySet<AnyTransitionDefinition>;
}

export function driverOf<Machine extends AnyStateMachine>(
  machine: Machine,
  input: InputFrom<Machine>,
): Driver<Machine> {
  const parent = createActor(fromCallback(() => {}));
  const self = createActor(machine as AnyStateMachine, { parent, input });
  const taken = new Set<AnyTransitionDefinition>();
  let wanted: WantedAction[] = [];
  parent.system.inspect((event) => {
    if (event.type === '@xstate.microstep') for (const one of event._transitions) taken.add(one);
  });
  const scope = {
    self,
    id: self.id,
    sessionId: self.sessionId,
    system: self.system,
    logger: () => {},
    defer: () => {},
    emit: () => {},
    stopChild: () => {},
    actionExecutor: ({ type, params }: WantedAction) => void wanted.push({ type, params }),
  };
  return {
    machine,
    first: machine.getInitialSnapshot(scope, input) as SnapshotFrom<Machine>,
    send(snapshot, event) {
      wanted = [];
      return machine.transition(
        snapshot as AnyMachineSnapshot,
        event,
        scope,
      ) as SnapshotFrom<Machine>;
    },
    get wanted() {
      return wanted;
    },
    taken,
  };
}

export interface Play<Machine extends AnyStateMachine> {
  send(...events: readonly EventFrom<Machine>[]): SnapshotFrom<Machine>;
  readonly now: SnapshotFrom<Machine>;
  readonly wanted: readonly WantedAction[];
}

/** One life of a machine, event by event. */
export function play<Machine extends AnyStateMachine>(
  machine: Machine,
  input: InputFrom<Machine>,
): Play<Machine> {
  const driver = driverOf(machine, input);
  let now = driver.first;
  return {
    send(...events) {
      for (const event of events) now = driver.send(now, event);
      return now;
    },
    get now() {
      return now;
    },
    get wanted() {
      return driver.wanted;
    },
  };
}

/** The events that the machine wants to be sent to others, and to whom. */
export const sentIn = (
  wanted: readonly WantedAction[],
): readonly { readonly to: string; readonly event: unknown }[] =>
  wanted.flatMap(({ type, params }) => {
    if (type !== 'xstate.sendTo') return [];
    const { to, event } = params as {
      readonly to: { readonly id: string };
      readonly event: unknown;
    };
    return [{ to: to.id, event }];
  });

export const emittedIn = (wanted: readonly WantedAction[]): readonly unknown[] =>
  wanted.flatMap(({ type, params }) =>
    type === 'xstate.emit' ? [(params as { readonly event: unknown }).event] : [],
  );
