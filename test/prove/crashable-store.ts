/** A store that outlives its processes: each life saves through a door of its own, which a crash shuts for good. */
import { memoryStore, type Store } from 'pawl';

export interface CrashableStore {
  /** The store as one life sees it. */
  readonly door: () => { readonly store: Store; readonly shut: () => void };
}

export function crashableStore(): CrashableStore {
  const kept = memoryStore();
  return {
    door() {
      let isShut = false;
      const orNever = async <Value>(work: () => Promise<Value>): Promise<Value> => {
        if (isShut) return new Promise(() => {});
        const value = await work();
        return isShut ? new Promise(() => {}) : value;
      };
      return {
        store: {
          ...kept,
          // What was saved stays saved, also when the process dies before it hears so. As text, as on a disk.
          save: (steps) => orNever(() => kept.save(asText(steps))),
          load: (runId) => orNever(() => kept.load(runId)),
          // All lives are one process here, so none can see that another is dead.
          lease: async () => ({ ok: true }),
          close: async () => {},
        },
        shut() {
          isShut = true;
        },
      };
    },
  };
}

const asText = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));
