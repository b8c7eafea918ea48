/** Thrown by `raceTimeout` when the time is up. */
export const timedOut = Symbol('timed out');

/** Empty once the race is decided: work that never settles then holds nothing of the run that waited for it. */
interface Race<Value> {
  waiting: {
    readonly resolve: (value: Value) => void;
    readonly reject: (error: unknown) => void;
  } | null;
}

/**
 * Settles with `work`, rejects with `timedOut` after `timeoutMs`, or with the signal's reason once it fires, whichever
 * comes first. What `work` does later is dropped: no rejection of it is left unhandled, no timer or listener stays.
 */
export function raceTimeout<Value>(
  work: Promise<Value>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => finish(() => reject(signal.reason));
    const late = (): void => finish(() => reject(timedOut));
    const watch = (): void => {
      if (race.waiting === null) return;
      if (signal.aborted) {
        stop();
        return;
      }
      signal.addEventListener('abort', stop, { once: true });
      if (Number.isFinite(timeoutMs)) timer = setTimeout(late, Math.min(timeoutMs, 2 ** 31 - 1));
    };
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      race.waiting = null;
      settle();
    };
    const race: Race<Value> = {
      waiting: {
        resolve: (value) => finish(() => resolve(value)),
        reject: (error) => finish(() => reject(error)),
      },
    };
    follow(work, race);
    // Most work settles without waiting for the world, and then needs neither timer nor listener.
    process.nextTick(watch);
  });
}

/** Apart from the race itself, so that what `work` holds on to is `race` and no more. */
function follow<Value>(work: Promise<Value>, race: Race<Value>): void {
  work.then(
    (value) => race.waiting?.resolve(value),
    (error: unknown) => race.waiting?.reject(error),
  );
}
