/** Runs while at least one effect does. So waiting for a person costs nothing, and parallel tools count once. */
export interface ActiveMeter {
  begin(): void;
  end(): void;
  /** Active time so far, in whole milliseconds. */
  read(): number;
  /** The limit has changed: what runs is held to the new one. */
  heedLimit(): void;
}

const longestTimerMs = 2 ** 31 - 1;

export function activeMeter(options: {
  readonly startMs: number;
  /** Asked anew each time: a budget can be raised. Null: no limit. */
  readonly limitMs: () => number | null;
  readonly ranOut: (activeMs: number) => void;
  readonly now: () => number;
}): ActiveMeter {
  let total = options.startMs;
  let running = 0;
  let since = 0;
  let timer: NodeJS.Timeout | undefined;

  const read = (): number => Math.ceil(total + (running > 0 ? options.now() - since : 0));
  const leftMs = (): number => (options.limitMs() ?? Number.POSITIVE_INFINITY) - read();
  const arm = (): void => {
    clearTimeout(timer);
    const waitMs = Math.min(Math.max(1, leftMs()), longestTimerMs);
    if (options.limitMs() !== null) timer = setTimeout(ring, waitMs);
  };
  const ring = (): void => (leftMs() <= 0 ? options.ranOut(read()) : arm());
  return {
    read,
    heedLimit() {
      if (running > 0) arm();
    },
    begin() {
      running += 1;
      if (running > 1) return;
      since = options.now();
      arm();
    },
    end() {
      running -= 1;
      if (running > 0) return;
      total += options.now() - since;
      clearTimeout(timer);
    },
  };
}
