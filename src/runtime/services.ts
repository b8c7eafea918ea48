/** What the runtime knows about a live run beside its snapshot. Found from any actor of the run. */
import type { AnyActorRef } from 'xstate';
import type { RunContext } from '../core/run-context.ts';
import type { UnaddressedEvent } from '../core/run-event.ts';
import { type ActiveMeter, activeMeter } from './active-meter.ts';
import { createSlots, type Slots } from './slots.ts';

export interface RunServices {
  readonly meter: ActiveMeter;
  readonly slots: Slots;
  /** Resolves once everything that has changed so far is durable. */
  readonly saved: () => Promise<void>;
  /** Something in the run changed and has to be saved. */
  readonly noteChange: (cause?: string) => void;
  /** Null: nobody has asked for this run's events yet. */
  readonly emit: ((event: UnaddressedEvent) => void) | null;
}

const services = new WeakMap<AnyActorRef, RunServices>();

export const useServices = (run: AnyActorRef, own: RunServices): void => {
  services.set(run, own);
};

/** The run that an actor works for: the nearest agent loop above it, or itself. */
export function runOf(actor: AnyActorRef): AnyActorRef {
  for (let ref: AnyActorRef | undefined = actor; ref; ref = ref._parent) {
    if (isAgentLoop(ref)) return ref;
  }
  throw new Error(`Actor "${actor.id}" is not part of an agent loop.`);
}

const isAgentLoop = (ref: AnyActorRef): boolean => ref.getSnapshot()?.machine?.id === 'agent-loop';

export const contextOf = (actor: AnyActorRef): RunContext => runOf(actor).getSnapshot().context;

/**
 * The services of the run that this actor belongs to. A run that was started by plain `createActor` gets some of its
 * own: nothing waits for a store, and events go nowhere.
 */
export function servicesOf(actor: AnyActorRef): RunServices {
  const run = runOf(actor);
  const known = services.get(run);
  if (known) return known;
  const own: RunServices = {
    meter: meterFor(run),
    slots: createSlots(Number.POSITIVE_INFINITY),
    saved: () => Promise.resolve(),
    noteChange: () => {},
    emit: null,
  };
  services.set(run, own);
  return own;
}

/** Tells the run's saver, if it has one. Called in each transition, also before the run's root has a snapshot. */
export function noteChange(actor: AnyActorRef, cause: string): void {
  for (let ref: AnyActorRef | undefined = actor; ref; ref = ref._parent) {
    services.get(ref)?.noteChange(cause);
  }
}

export const meterFor = (run: AnyActorRef): ActiveMeter => {
  const ledgerOf = () => (run.getSnapshot().context as RunContext).ledger;
  return activeMeter({
    startMs: ledgerOf().activeMs,
    limitMs: () => ledgerOf().limits.maxActiveMs,
    ranOut: (activeMs) => run.send({ type: 'time.ranOut', activeMs }),
    now: () => performance.now(),
  });
};
