/** How many calls of a run may be carried out at once. */
export interface Slots {
  /** Resolves when the call may begin; rejects with the signal's reason. In the order of asking. */
  acquire(callId: string, tool: string, most: number, signal: AbortSignal): Promise<void>;
  /** Gives the slot back. Safe for a call that holds none. */
  release(callId: string): void;
}

interface Waiting {
  readonly callId: string;
  readonly tool: string;
  readonly most: number;
  readonly begin: () => void;
}

/** `most` calls at once in the run, and of each tool as many as it allows. */
export function createSlots(most: number): Slots {
  const running = new Map<string, string>();
  let waiting: readonly Waiting[] = [];

  const countOf = (tool: string): number =>
    [...running.values()].filter((name) => name === tool).length;
  const mayBegin = (call: Waiting): boolean =>
    running.size < most && countOf(call.tool) < call.most;
  const admit = (): void => {
    for (const call of waiting) {
      if (!mayBegin(call)) continue;
      running.set(call.callId, call.tool);
      waiting = waiting.filter((other) => other !== call);
      call.begin();
    }
  };

  return {
    acquire: (callId, tool, mostOfTool, signal) =>
      new Promise((resolve, reject) => {
        const leave = (): void => {
          waiting = waiting.filter((call) => call !== entry);
          reject(signal.reason);
        };
        const begin = (): void => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        const entry: Waiting = { callId, tool, most: mostOfTool, begin };
        waiting = [...waiting, entry];
        admit();
        if (waiting.includes(entry)) signal.addEventListener('abort', leave, { once: true });
      }),
    release(callId) {
      if (running.delete(callId)) admit();
    },
  };
}
