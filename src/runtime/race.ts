/** Thrown by `raceTimeout` when the time is up. */
export const timedOut = Symbol('timed out');

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
    const stop = (): void => finish(() => reject(signal.reason));
    const timer = Number.isFinite(timeoutMs)
      ? setTimeout(() => finish(() => reject(timedOut)), Math.min(timeoutMs, 2 ** 31 - 1))
      : undefined;
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      settle();
    };
    signal.addEventListener('abort', stop, { once: true });
    work.then(
      (value) => finish(() => resolve(value)),
      (error: unknown) => finish(() => reject(error)),
    );
    if (signal.aborted) stop();
  });
}
