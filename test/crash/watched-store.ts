import type { Store } from '../../src/stores/store.ts';
import type { World } from './world.ts';

/** The same store, with a boundary before and after each of its operations, and a note of each save that it kept. */
export function watchedStore(store: Store, world: World): Store {
  const around =
    <Given extends readonly unknown[], Value>(
      name: string,
      operation: (...given: Given) => Promise<Value>,
      note: (value: Value, ...given: Given) => void = () => {},
    ) =>
    async (...given: Given): Promise<Value> => {
      world.meet(`${name} before`);
      const value = await operation(...given);
      note(value, ...given);
      world.meet(`${name} after`);
      return value;
    };
  return {
    ...store,
    save: around('save', tellRefusal(store.save, world), (refused, steps) => {
      for (const { runId, follows } of steps) {
        if (refused.some((entry) => entry.runId === runId)) continue;
        world.note({ what: 'saved', version: follows + 1 });
      }
    }),
    load: around('load', store.load),
    list: around('list', store.list),
    lease: around('lease', store.lease),
    release: around('release', store.release),
    post: around('post', store.post),
    posted: around('posted', store.posted),
    close: around('close', store.close),
  };
}

const tellRefusal =
  (save: Store['save'], world: World): Store['save'] =>
  async (steps) => {
    try {
      return await save(steps);
    } catch (error) {
      world.note({ what: 'refused' });
      throw error;
    }
  };
