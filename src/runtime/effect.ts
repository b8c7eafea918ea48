import {
  type AnyActorRef,
  type AnyActorScope,
  fromPromise,
  type PromiseActorLogic,
  type PromiseSnapshot,
} from 'xstate';
import { isRestored, noteRestored } from './plain-context.ts';
import { raceTimeout } from './race.ts';
import { servicesOf } from './services.ts';

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
const longestWaitMs = 60_000;

/** A point in time. Absolute, so a restart waits only for the rest, and not at all for what has passed. */
export const until = fromPromise<void, { readonly at: number }>(
  ({ input: { at }, signal }) =>
    new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const look = (): void => {
        const leftMs = at - Date.now();
        if (leftMs > 0) {
          timer = setTimeout(look, Math.min(leftMs, longestWaitMs));
          return;
        }
        signal.removeEventListener('abort', stop);
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
      look();
    }),
);
