/** Snapshots of earlier schemas, brought to the present one. */
import type { JsonObject } from './json.ts';
import { schemaVersion } from './run-context.ts';

/**
 * Makes a persisted snapshot, with its children, one of the next schema version. Pure, and never edited once it is
 * released. It gets no messages: they are in the form of the API, which no schema changes. A part of a context (settings
 * alone, or what a fork begins with) passes through it too, so it changes the fields that are there and adds none to a
 * snapshot that has no `value`.
 */
export type Upgrade = (snapshot: JsonObject) => JsonObject;

/** One-step upgrades by the version that they start from, and the version that they lead to in the end. */
export interface Upgrades {
  readonly to: number;
  readonly steps: ReadonlyMap<number, Upgrade>;
}

/** Empty, since 1 is the first schema. When `schemaVersion` becomes 2: `[[1, toVersion2]]`, and so on. */
export const upgrades: Upgrades = { to: schemaVersion, steps: new Map() };
