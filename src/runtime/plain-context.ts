import type {
  AnyActorRef,
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  Snapshot,
} from 'xstate';
import { checkSnapshot } from './check-snapshot.ts';
import { heedLimits, noteChange, noteSteps, noteTurn } from './services.ts';

const noContext: object = { context: {} };

/** Actors that began from a snapshot instead of from the beginning. */
const restored = new WeakSet<AnyActorRef>();

export const isRestored = (actor: AnyActorRef): boolean => restored.has(actor);
export const noteRestored = (actor: AnyActorRef): void => {
  restored.add(actor);
};

/**
 * A machine whose context is plain JSON and never holds actors. Keeps XState from looking for any in it: XState would
 * rewrite model output that happens to look like a reference to one, and walk the whole transcript at every save.
 *
 * It also notes every change for the run's saver, every step for its watchers, and its limits for its meter, and makes a
 * restored machine hear what XState tells only once: the end of a child (its parent would wait for ever), and that it was
 * restored, for states that report to a parent. `onStart` is called before any child starts.
 */
export function plainContext<Machine extends AnyStateMachine>(
  machine: Machine,
  onStart: (actor: AnyActorRef) => void = () => {},
): Machine {
  return Object.assign(Object.create(machine) as Machine, {
    transition: (snapshot: AnyMachineSnapshot, event: AnyEventObject, scope: AnyActorScope) => {
      if (event.type !== 'xstate.stop') noteChange(scope.self, event);
      const steps: readonly AnyMachineSnapshot[] = machine.microstep(snapshot, event, scope);
      const next = steps.at(-1) ?? snapshot;
      noteSteps(scope.self, steps);
      if (turnOf(next) !== turnOf(snapshot)) noteTurn(scope.self, next);
      if (limitsOf(next) !== limitsOf(snapshot)) scope.defer(() => heedLimits(scope.self));
      return next;
    },
    getPersistedSnapshot: (snapshot: AnyMachineSnapshot, options?: unknown) => ({
      ...machine.getPersistedSnapshot({ ...snapshot, context: {} } as AnyMachineSnapshot, options),
      context: snapshot.context,
    }),
    restoreSnapshot: (persisted: Snapshot<unknown>, scope: AnyActorScope) => {
      const whole = readable(machine, persisted);
      noteRestored(scope.self);
      const bare: Snapshot<unknown> = Object.assign({}, whole, noContext);
      const { context } = whole as AnyMachineSnapshot;
      return { ...machine.restoreSnapshot(bare, scope), context };
    },
    start: (snapshot: AnyMachineSnapshot, scope: AnyActorScope) => {
      onStart(scope.self);
      machine.start(snapshot);
      if (isRestored(scope.self)) retell(snapshot, scope);
    },
    provide: (implementations: Parameters<Machine['provide']>[0]) =>
      plainContext(machine.provide(implementations), onStart),
  });
}

const turnOf = ({ context }: AnyMachineSnapshot): unknown => context.turn;
const limitsOf = ({ context }: AnyMachineSnapshot): unknown => context.ledger?.limits;

function retell(snapshot: AnyMachineSnapshot, { self }: AnyActorScope): void {
  for (const child of Object.values(snapshot.children) as AnyActorRef[]) {
    const { status, output, error } = child.getSnapshot();
    const actorId = child.id;
    if (status === 'done') self.send({ type: `xstate.done.actor.${actorId}`, output, actorId });
    if (status === 'error') self.send({ type: `xstate.error.actor.${actorId}`, error, actorId });
  }
  self.send({ type: 'actor.restored' });
}

/** A run's children are checked with it. */
const readable = ({ id }: AnyStateMachine, persisted: Snapshot<unknown>): Snapshot<unknown> =>
  id === 'agent-loop'
    ? (checkSnapshot(persisted).snapshot as unknown as Snapshot<unknown>)
    : persisted;
