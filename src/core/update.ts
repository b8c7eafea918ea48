import { Immer } from 'immer';

// Our own instance: freezing would walk the transcript, and a package must not change the settings of its user's immer.
const immer = new Immer({ autoFreeze: false });

/** Immer's `produce`, for small values. Never used on a transcript: drafting copies the whole array. */
export const update: Immer['produce'] = immer.produce;
