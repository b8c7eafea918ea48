/** Watches one call: ends it when the caller's signal fires or a time limit passes. */
export interface CallWatch {
  /** Fires when the call has to end, with the reason to reject with. */
  readonly signal: AbortSignal;
  /** Rejects with that reason. Never resolves. */
  readonly ended: Promise<never>;
  /** From now on the call ends with this failure unless it is told again within `ms`. */
  readonly expectSignOfLife: (ms: number, failure: () => unknown) => void;
  /** From now on silence is no failure. */
  readonly bearSilence: () => void;
  /** Takes the listener and the timers away. */
  readonly dispose: () => void;
}

export function watchCall(
  signal: AbortSignal,
  timeoutMs: number,
  timeoutFailure: () => unknown,
): CallWatch {
  const controller = new AbortController();
  const { promise: ended, reject } = rejectable();
  const end = (reason: unknown): void => {
    // The promise first: whatever the abort makes fail comes after the reason for it.
    reject(reason);
    controller.abort(reason);
  };
  const onAbort = (): void => end(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const whole = setTimeout(() => end(timeoutFailure()), timeoutMs);
  let silence: NodeJS.Timeout | undefined;
  let isOver = false;
  return {
    signal: controller.signal,
    ended,
    expectSignOfLife: (ms, failure) => {
      clearTimeout(silence);
      // Events that were read already may still be worked on when the call has ended.
      if (!isOver) silence = setTimeout(() => end(failure()), ms);
    },
    bearSilence: () => clearTimeout(silence),
    dispose: () => {
      isOver = true;
      signal.removeEventListener('abort', onAbort);
      clearTimeout(whole);
      clearTimeout(silence);
    },
  };
}

function rejectable() {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_resolve, rejectPromise) => {
    reject = rejectPromise;
  });
  // Whoever races against it hears of it; nobody else needs to.
  promise.catch(() => {});
  return { promise, reject };
}
