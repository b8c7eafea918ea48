import type { Store } from 'pawl';

/** The store as a version of Pawl writes to it whose machine has a state that this one does not have. */
export const inForeignState = (store: Store): Store => ({
  ...store,
  save: (steps) =>
    store.save(
      steps.map((step) => ({
        ...step,
        checkpoint: { ...step.checkpoint, value: { active: 'daydream' } },
      })),
    ),
});
