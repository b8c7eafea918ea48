import type { Store } from '../stores/store.ts';
import { forkPromises } from './store-contract-forks.ts';
import { listPromises } from './store-contract-lists.ts';
import { savePromises } from './store-contract-saves.ts';
import { sharePromises } from './store-contract-shares.ts';
import type { Promised } from './store-promise.ts';

/** One promise of the store contract. Works with any test runner: `it(name, () => check(makeStore))`. */
export interface StoreCheck {
  readonly name: string;
  /**
   * Rejects when the store breaks the promise. `makeStore` gives an empty store; the check closes it. With `reopen`,
   * what was saved is looked at once more through the store that it gives, after the first one was closed: hand it in
   * for a store that outlives the process.
   */
  readonly check: (
    makeStore: () => Store | Promise<Store>,
    reopen?: (closed: Store) => Store | Promise<Store>,
  ) => Promise<void>;
}

/** What every store has to keep. A store of your own passes when each check resolves. */
export const storeContract: readonly StoreCheck[] = [
  ...savePromises,
  ...forkPromises,
  ...listPromises,
  ...sharePromises,
].map(toCheck);

function toCheck({ name, act, verify }: Promised): StoreCheck {
  return {
    name,
    async check(makeStore, reopen) {
      const store = await makeStore();
      try {
        await act(store);
        await verify?.(store);
      } finally {
        await store.close();
      }
      if (reopen === undefined || verify === undefined) return;
      const again = await reopen(store);
      try {
        await verify(again);
      } finally {
        await again.close();
      }
    },
  };
}
