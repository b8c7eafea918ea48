import { checkBoolean, checkFields } from '../core/check.ts';
import type { SavedRun, Store } from './store.ts';

export interface MemoryStoreOptions {
  /** Keep runs that have ended. Default true; without, a process that makes many runs does not grow. */
  readonly keepsEnded?: boolean;
}

/** Keeps runs in this process, for as long as it lives. @throws PawlError `invalid_input` */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkFields('options', options, ['keepsEnded']);
  checkBoolean('keepsEnded', options.keepsEnded);
  const { keepsEnded = true } = options;
  const runs = new Map<string, SavedRun>();
  return {
    async save(steps) {
      const refused: string[] = [];
      for (const { runId, follows, snapshot, ended } of steps) {
        if ((runs.get(runId)?.saveVersion ?? 0) !== follows) refused.push(runId);
        else if (ended !== null && !keepsEnded) runs.delete(runId);
        else runs.set(runId, { runId, saveVersion: follows + 1, snapshot });
      }
      return refused;
    },
    load: async (runId) => runs.get(runId) ?? null,
    async close() {
      runs.clear();
    },
  };
}
