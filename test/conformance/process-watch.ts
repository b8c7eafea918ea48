/** What goes wrong in the process as a whole, and can't be laid at the door of one run by itself. */
export interface Trouble {
  readonly unhandledRejections: string[];
  readonly warnings: string[];
  isPolluted: boolean;
}

/** Collects trouble from now until `stop`. Several may collect at once; each gets everything. */
export function watchProcess(): { readonly stop: () => Promise<Trouble> } {
  const trouble: Trouble = { unhandledRejections: [], warnings: [], isPolluted: false };
  const onRejection = (reason: unknown): void => {
    trouble.unhandledRejections.push(describe(reason));
  };
  const onWarning = (warning: Error): void => {
    trouble.warnings.push(`${warning.name}: ${warning.message}`);
  };
  process.on('unhandledRejection', onRejection);
  process.on('warning', onWarning);
  return {
    async stop() {
      // Both are told after the microtasks of the turn that caused them.
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      process.off('unhandledRejection', onRejection);
      process.off('warning', onWarning);
      trouble.isPolluted = isPolluted();
      return trouble;
    },
  };
}

const describe = (reason: unknown): string =>
  reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);

const ownKeys = new Set(Reflect.ownKeys(Object.prototype));

/** Whether every object has a field more than it should. */
export const isPolluted = (): boolean =>
  Reflect.ownKeys(Object.prototype).some((key) => !ownKeys.has(key));

/** So that one play's pollution is not found again in the next. */
export function cleanPrototype(): void {
  for (const key of Reflect.ownKeys(Object.prototype)) {
    if (!ownKeys.has(key)) Reflect.deleteProperty(Object.prototype, key);
  }
}

export const isTroubled = ({ unhandledRejections, warnings, isPolluted: polluted }: Trouble) =>
  polluted || unhandledRejections.length > 0 || warnings.length > 0;
