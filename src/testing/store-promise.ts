import type { Store } from '../stores/store.ts';

/** One promise: what is done, and what must hold then; also through a store that is opened on the same data later. */
export interface Promised {
  readonly name: string;
  readonly act: (store: Store) => Promise<void>;
  readonly verify?: (store: Store) => Promise<void>;
}

export const promise = (
  name: string,
  act: Promised['act'],
  verify?: Promised['verify'],
): Promised => ({ name, act, ...(verify && { verify }) });
