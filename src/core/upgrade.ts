/** Carries a snapshot from the schema that it was saved with to the present one, one version at a time. */
import { copyJson } from './copy-json.ts';
import { PawlError } from './errors.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { schemaVersion } from './run-context.ts';
import { describeThrown } from './stringify.ts';
import type { Upgrade, Upgrades } from './upgrades.ts';
import { pawlVersion } from './version.ts';

/** Anything with a context that says which schema it is of. */
interface Versioned {
  readonly context: { readonly [field: string]: unknown };
}

/** The schema version of a snapshot; null when it says none. */
export function versionOf(snapshot: unknown): number | null {
  if (!isJsonObject(snapshot) || !isJsonObject(snapshot.context)) return null;
  const { schemaVersion } = snapshot.context;
  return Number.isSafeInteger(schemaVersion) ? Number(schemaVersion) : null;
}

/**
 * The same value when it is of the version that the steps lead to, else a new one: nothing of the old one is changed.
 * @throws PawlError `snapshot_incompatible`: a newer version, a missing step, one that fails
 */
export function upgraded<Snapshot extends Versioned>(
  snapshot: Snapshot,
  chain: Upgrades,
): Snapshot {
  const from = versionOf(snapshot) ?? Number.NaN;
  if (from === chain.to) return snapshot;
  if (!(from < chain.to)) throw unreadable(from, chain, 'It is newer than this Pawl.');
  const { messages, ...context } = snapshot.context;
  let next = copyJson({ ...snapshot, context }) as unknown as JsonObject;
  for (let version = from; version < chain.to; version += 1) {
    const step = chain.steps.get(version);
    if (!step) throw unreadable(from, chain, `No upgrade leads from ${version} to ${version + 1}.`);
    next = takeStep(step, next, version, chain, from);
  }
  const newer = next as unknown as Snapshot;
  return messages === undefined ? newer : { ...newer, context: { ...newer.context, messages } };
}

/** Settings are stored once, when the run begins, so they say by themselves which schema they are of. */
export const stamped = <Settings extends object>(settings: Settings): Settings => ({
  schemaVersion,
  ...settings,
});

/** The settings in the form of a version, without their stamp. A version that is not known leaves them as they are. */
export function settingsAt<Settings extends object>(
  stored: Settings,
  version: number | null,
  chain: Upgrades,
): Settings {
  const { schemaVersion: since = 1, ...settings } = stored as { readonly schemaVersion?: unknown };
  if (version === null || version > chain.to || since === version) return settings as Settings;
  const part = { context: { schemaVersion: since, settings } };
  return upgraded(part, { ...chain, to: version }).context.settings as Settings;
}

function takeStep(
  step: Upgrade,
  snapshot: JsonObject,
  version: number,
  chain: Upgrades,
  from: number,
): JsonObject {
  const name = `The upgrade from ${version} to ${version + 1}`;
  const next = attempt(step, snapshot, (error) =>
    unreadable(from, chain, `${name} failed: ${describeThrown(error)}.`, error),
  );
  const given = versionOf(next);
  if (given === version + 1) return next;
  throw unreadable(
    from,
    chain,
    `${name} gave ${given === null ? 'no version' : `version ${given}`}.`,
  );
}

function attempt(
  step: Upgrade,
  snapshot: JsonObject,
  toError: (error: unknown) => PawlError,
): JsonObject {
  try {
    return step(snapshot);
  } catch (error) {
    throw toError(error);
  }
}

function unreadable(from: number, { to }: Upgrades, why: string, cause?: unknown): PawlError {
  return new PawlError(
    'snapshot_incompatible',
    `snapshot: expected schema version ${to}, got ${from}. ${why} This is Pawl ${pawlVersion}: resume the run with the version of Pawl that saved it, or a newer one. It was left as it is.`,
    { cause },
  );
}
