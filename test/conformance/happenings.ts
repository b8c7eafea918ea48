/** What has happened in a play, under the names that `wait.for` uses: `tool_started:toolu_1`, `request:2`, … */
export interface Happenings {
  note(name: string): void;
  /** Resolves once it has happened, at once if it has already. Rejects with the signal's reason. */
  until(name: string, signal: AbortSignal): Promise<void>;
  /** How long nothing happened, in ms. */
  quietMs(): number;
}

export function createHappenings(): Happenings {
  const seen = new Set<string>();
  const waiting = new Map<string, (() => void)[]>();
  let lastAt = performance.now();
  return {
    note(name) {
      lastAt = performance.now();
      seen.add(name);
      for (const resolve of waiting.get(name) ?? []) resolve();
      waiting.delete(name);
    },
    until: (name, signal) =>
      untilAborted(
        signal,
        new Promise((resolve) => {
          if (seen.has(name)) resolve();
          else waiting.set(name, [...(waiting.get(name) ?? []), resolve]);
        }),
      ),
    quietMs: () => performance.now() - lastAt,
  };
}

/** As `work`, but rejects with the signal's reason once that fires. */
export function untilAborted<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

export const pause = (ms: number, signal: AbortSignal): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return untilAborted(signal, passed).finally(() => clearTimeout(timer));
};

/** Looks again and again, since not everything that is waited for announces itself. */
export async function untilTrue(isSo: () => boolean, signal: AbortSignal): Promise<void> {
  while (!isSo()) await pause(5, signal);
}
