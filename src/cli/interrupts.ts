/** Turns Ctrl-C and its kin into the end of the current run. */
export interface Interrupts {
  /** For a run that starts now. Until `end`, the first press cancels it. `drain` lets it come to a stop, saved. */
  begin(drain?: () => Promise<void>): Stops;
  end(): void;
  /** Cancels the current run. False when there is none, or it is cancelled already. */
  cancel(reason: string): boolean;
  /** As `cancel`, but the second press, and any press without a run, leaves at once. */
  press(reason: string): void;
  /** Drains the current run. The second time, and without a run, leaves at once. */
  drain(): void;
}

export interface Stops {
  readonly cancelled: AbortSignal;
  /** The process has to end: the run is left where it is. */
  readonly draining: AbortSignal;
}

interface Current {
  readonly cancel: AbortController;
  readonly drain: AbortController;
  readonly runDrain: () => Promise<void>;
}

export function createInterrupts(leave: () => void): Interrupts {
  let current: Current | null = null;
  const cancel = (reason: string): boolean => {
    if (current === null || current.cancel.signal.aborted) return false;
    current.cancel.abort(reason);
    return true;
  };
  return {
    cancel,
    begin(runDrain = async () => {}) {
      const own = { cancel: new AbortController(), drain: new AbortController(), runDrain };
      current = own;
      return { cancelled: own.cancel.signal, draining: own.drain.signal };
    },
    end() {
      current = null;
    },
    press(reason) {
      if (!cancel(reason)) leave();
    },
    drain() {
      if (current === null || current.drain.signal.aborted) return leave();
      current.drain.abort();
      current.runDrain().catch(leave);
    },
  };
}
