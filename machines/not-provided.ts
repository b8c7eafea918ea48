import { fromPromise } from 'xstate';

/** An effect that a machine names and the runtime gives a body. Fails loudly when it was given none. */
export const notProvided = <Output, Input>(name: string) =>
  fromPromise<Output, Input>(() => Promise.reject(new Error(`Effect "${name}" was not provided.`)));
