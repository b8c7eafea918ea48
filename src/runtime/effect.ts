import {
  type AnyActorRef,
  type AnyActorScope,
  fromPromise,
  type PromiseActorLogic,
  type PromiseSnapshot,
} from 'xstate';
import { longestDelayMs } from '../core/retry.ts';
import { isRestored, noteRestored } from './plain-context.ts';
import { raceTimeout } from './race.ts';
import { contextOf, servicesOf } from './services.ts';

export interface EffectArgs<Input> {
  readonly input: Input;
  /** Fires when the machine leaves the state that wanted the effect. */
  readonly signal: AbortSignal;
  readonly self: AnyActorRef;
}

/**
 * An effect that touches the world. It begins only when the checkpoint that asked for it is durable, runs on the run's
 * active-time meter, and never runs again by itself: one that was under way when the process died resolves to `lost`,
 * and the machine decides what that means.
 */
export function effect<Output extends { readonly activeMs: number }, Input>(
  act: (args: EffectArgs<Input>) => Promise<Unmetered<Output>>,
  lost: Unmetered<Output>,
): PromiseActorLogic<Output, Input> {
  const logic = fromPromise<Output, Input>(async ({ input, signal, self }) => {
    const { meter, saved, isHeld, regain } = servicesOf(self);
    const metered = (output: Unmetered<Output>) =>
      ({ ...output, activeMs: meter.read() }) as unknown as Output;
    if (isRestored(self)) return metered(lost);
    await saved();
    signal.throwIfAborted();
    // Not a function to await: after it, a sibling's body could still sleep in between, and the run be another's.
    while (!isHeld()) {
      await regain();
      signal.throwIfAborted();
    }
    meter.begin();
    try {
      // What does not listen to its signal would keep the meter, and its timer, for ever.
      return metered(
        await raceTimeout(act({ input, signal, self }), Number.POSITIVE_INFINITY, signal),
      );
    } finally {
      meter.end();
    }
  });
  return {
    ...logic,
    restoreSnapshot: (snapshot: PromiseSnapshot<Output, Input>, scope: AnyActorScope) => {
      noteRestored(scope.self);
      return snapshot;
    },
  } as PromiseActorLogic<Output, Input>;
}

/** An outcome without its meter reading, which `effect` adds. */
export type Unmetered<Output> = Output extends unknown ? Omit<Output, 'activeMs'> : never;

/** A timer measures what passes, not what the clock says: one that was set, or a machine that slept, shows within this. */
const longestLookMs = 60_000;

/** A point in time. Absolute, so a restart waits only for the rest, and not at all for what has passed. */
export const until = fromPromise<void, { readonly at: number }>(
  async ({ input: { at }, signal }) => {
    for (let leftMs = at - Date.now(); leftMs > 0; leftMs = at - Date.now()) {
      await pass(Math.min(leftMs, longestLookMs), signal);
      signal.throwIfAborted();
    }
  },
);

/**
 * The wait before another attempt. It is absolute for the sake of a restart only: a clock that is set back, before or
 * during the wait, makes it no longer than the longest that the run may plan.
 */
export const backOff = fromPromise<void, { readonly at: number }>(
  async ({ input: { at }, self, signal }) => {
    const leftMs = at - Date.now();
    const mostMs = longestDelayMs(contextOf(self).settings.retry);
    if (leftMs > 0) await pass(Math.min(leftMs, mostMs), signal);
  },
);

/** One timer: what it measures does not depend on the clock. Rejects with the signal's reason once that fires. */
const pass = (durationMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const finish = (): void => {
      signal.removeEventListener('abort', stop);
      resolve();
    };
    // A longer timer would fire at once.
    const timer = setTimeout(finish, Math.min(durationMs, 2 ** 31 - 1));
    signal.addEventListener('abort', stop, { once: true });
  });
