/** Turns Ctrl-C and its kin into a cancel of the current run. */
export interface Interrupts {
  /** For a run that starts now. Until `end`, the first press cancels it. */
  begin(): AbortSignal;
  end(): void;
  /** Cancels the current run. False when there is none, or it is cancelled already. */
  cancel(reason: string): boolean;
  /** As `cancel`, but the second press, and any press without a run, leaves at once. */
  press(reason: string): void;
}

export function createInterrupts(leave: () => void): Interrupts {
  let controller: AbortController | null = null;
  const cancel = (reason: string): boolean => {
    if (controller === null || controller.signal.aborted) return false;
    controller.abort(reason);
    return true;
  };
  return {
    cancel,
    begin() {
      controller = new AbortController();
      return controller.signal;
    },
    end() {
      controller = null;
    },
    press(reason) {
      if (!cancel(reason)) leave();
    },
  };
}
