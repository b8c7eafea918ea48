/** What the runtime knows about a live run beside its snapshot. Found from any actor of the run. */
import type { AnyActorRef, AnyEventObject, AnyMachineSnapshot } from 'xstate';
import type { RunContext } from '../core/run-context.ts';
import type { UnaddressedEvent } from '../core/run-event.ts';
import { type ActiveMeter, activeMeter } from './active-meter.ts';
import type { Slots } from './slots.ts';

export type Emit = (event: UnaddressedEvent) => void;

export interface RunServices {
  readonly meter: ActiveMeter;
  readonly slots: Slots;
  /** Resolves once everything that has changed so far is durable. */
  readonly saved: () => Promise<void>;
  /** No other process can have gone on with the run. Asked right before an effect begins. */
  readonly isHeld: () => boolean;
  /** Takes the run again, if nobody has it; a run that another process went on with is stopped here. */
  readonly regain: () => Promise<void>;
  /** Something in the run changed and has to be saved: by this event, which the run itself or a child of it heard. */
  readonly noteChange: (event: AnyEventObject, isOfRun: boolean) => void;
  /** A turn began: the run as it is right after. */
  readonly noteTurn: (run: AnyMachineSnapshot) => void;
  /** The run took these steps at one event: the last is what it is now. */
  readonly noteSteps: (steps: readonly AnyMachineSnapshot[]) => void;
  /** How the run, and each effect in it, tells what it does. */
  readonly emit: Emit;
}

const services = new WeakMap<AnyActorRef, RunServices>();

export const useServices = (run: AnyActorRef, own: RunServices): void => {
  services.set(run, own);
};

export const hasServices = (run: AnyActorRef): boolean => services.has(run);

/** The run that an actor works for: the nearest agent loop above it, or itself. */
function runOf(actor: AnyActorRef): AnyActorRef {
  for (let ref: AnyActorRef | undefined = actor; ref; ref = ref._parent) {
    if (isAgentLoop(ref)) return ref;
  }
  throw new Error(`Actor "${actor.id}" is not part of an agent loop.`);
}

const isAgentLoop = (ref: AnyActorRef): boolean => ref.getSnapshot()?.machine?.id === 'agent-loop';

export const contextOf = (actor: AnyActorRef): RunContext => runOf(actor).getSnapshot().context;

/** The services of the run that this actor belongs to. */
export function servicesOf(actor: AnyActorRef): RunServices {
  const run = runOf(actor);
  const known = services.get(run);
  if (!known) throw new Error(`The run of actor "${actor.id}" was not started.`);
  return known;
}

/** Tells the run's saver, if it has one. Called in each transition, also before the run's root has a snapshot. */
export function noteChange(actor: AnyActorRef, event: AnyEventObject): void {
  for (let ref: AnyActorRef | undefined = actor; ref; ref = ref._parent) {
    services.get(ref)?.noteChange(event, ref === actor);
  }
}

export const noteTurn = (run: AnyActorRef, snapshot: AnyMachineSnapshot): void =>
  services.get(run)?.noteTurn(snapshot);

export const noteSteps = (run: AnyActorRef, steps: readonly AnyMachineSnapshot[]): void =>
  services.get(run)?.noteSteps(steps);

/** A limit on its time holds from the moment it is set, also for what runs by then. */
export const heedLimits = (run: AnyActorRef): void => services.get(run)?.meter.heedLimit();

export const meterFor = (run: AnyActorRef): ActiveMeter => {
  const ledgerOf = () => (run.getSnapshot().context as RunContext).ledger;
  return activeMeter({
    startMs: ledgerOf().activeMs,
    limitMs: () => ledgerOf().limits.maxActiveMs,
    ranOut: (activeMs) => run.send({ type: 'time.ranOut', activeMs }),
    now: () => performance.now(),
  });
};
