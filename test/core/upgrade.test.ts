import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { PawlError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { schemaVersion } from '../../src/core/run-context.ts';
import { settingsAt, stamped, upgraded, versionOf } from '../../src/core/upgrade.ts';
import { type Upgrade, type Upgrades, upgrades } from '../../src/core/upgrades.ts';
import { pawlVersion } from '../../src/core/version.ts';

/** A step that raises the version and notes that it was there. */
const noting =
  (version: number, change: (context: JsonObject) => JsonObject = (context) => context): Upgrade =>
  (snapshot) => {
    const context = change(snapshot.context as JsonObject);
    const steps = [...((context.steps as readonly number[] | undefined) ?? []), version];
    return { ...snapshot, context: { ...context, steps, schemaVersion: version + 1 } };
  };

const chainOf = (to: number, ...steps: readonly (readonly [number, Upgrade])[]): Upgrades => ({
  to,
  steps: new Map(steps),
});

const full = chainOf(4, [1, noting(1)], [2, noting(2)], [3, noting(3)]);

const frozen = <Value>(value: Value): Value => {
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) frozen(item);
    Object.freeze(value);
  }
  return value;
};

const snapshotAt = (version: unknown) =>
  frozen({
    status: 'active',
    value: 'somewhere',
    context: { schemaVersion: version, messages: [{ role: 'user', content: [] }] },
    children: { one: { snapshot: { context: { callId: 'a' } } } },
  });

const refusalOf = (act: () => unknown): PawlError => {
  try {
    act();
  } catch (error) {
    if (PawlError.is(error)) return error;
    throw error;
  }
  throw new Error('It was not refused.');
};

describe('a chain of upgrades', () => {
  it.each([
    [1, [1, 2, 3]],
    [2, [2, 3]],
    [3, [3]],
  ])('leads from version %i one step at a time', (version, steps) => {
    const { context } = upgraded(snapshotAt(version), full) as { readonly context: unknown };
    expect(context).toMatchObject({ schemaVersion: 4, steps });
  });

  it('leaves a snapshot of the present version as it is', () => {
    const snapshot = snapshotAt(4);
    expect(upgraded(snapshot, full)).toBe(snapshot);
  });

  it('gives steps the children and no messages, which come back as they were', () => {
    const seen: JsonObject[] = [];
    const looking: Upgrade = (snapshot) => {
      seen.push(snapshot);
      return noting(1)(snapshot);
    };
    const snapshot = snapshotAt(1);
    const next = upgraded(snapshot, chainOf(2, [1, looking]));
    expect(seen[0]).toMatchObject({ children: snapshot.children });
    expect(Object.keys(seen[0]?.context as object)).toEqual(['schemaVersion']);
    expect(next.context.messages).toBe(snapshot.context.messages);
  });

  it('lets a step change what it gets, and nobody else sees it', () => {
    const careless: Upgrade = (snapshot) => {
      Object.assign(snapshot.context as object, { schemaVersion: 2 });
      return snapshot;
    };
    const snapshot = snapshotAt(1);
    expect(upgraded(snapshot, chainOf(2, [1, careless])).context.schemaVersion).toBe(2);
    expect(snapshot.context.schemaVersion).toBe(1);
  });

  const failing: Upgrade = () => {
    throw new Error('no such field');
  };
  const skipping: Upgrade = (snapshot) => noting(2)(snapshot);

  it.each<[string, unknown, Upgrades, readonly string[]]>([
    ['a newer version', 5, full, ['version 4, got 5', 'newer']],
    ['a gap', 1, chainOf(3, [1, noting(1)]), ['version 3, got 1', 'No upgrade leads from 2 to 3']],
    ['an older version than any step', -3, full, ['got -3', 'from -3 to -2']],
    ['a step that throws', 1, chainOf(2, [1, failing]), ['from 1 to 2 failed: no such field']],
    ['a step to another version', 1, chainOf(2, [1, skipping]), ['from 1 to 2 gave version 3']],
    [
      'a step that gives no snapshot',
      1,
      chainOf(2, [1, () => null as unknown as JsonObject]),
      ['gave no version'],
    ],
  ])('refuses %s, and names the versions', (_name, version, chain, words) => {
    const error = refusalOf(() => upgraded(snapshotAt(version), chain));
    expect(error.code).toBe('snapshot_incompatible');
    for (const word of [...words, `Pawl ${pawlVersion}`, 'left as it is']) {
      expect(error.message).toContain(word);
    }
  });

  it.each([null, 'x', [], {}, { context: null }, { context: { schemaVersion: '1' } }])(
    'finds no version in %j',
    (value) => {
      expect(versionOf(value)).toBeNull();
    },
  );
});

describe('settings, which are stored once', () => {
  const renaming = noting(1, ({ settings, ...rest }) => ({
    ...rest,
    ...(settings !== undefined && { settings: { title: (settings as { name: string }).name } }),
  }));
  const chain = chainOf(2, [1, renaming]);

  it('say which schema they are of', () => {
    expect(stamped({ name: 'a' })).toEqual({ schemaVersion, name: 'a' });
  });

  it.each([
    ['with the stamp of the same version', { schemaVersion: 2, title: 'a' }, 2, { title: 'a' }],
    ['with an older stamp', { schemaVersion: 1, name: 'a' }, 2, { title: 'a' }],
    ['without a stamp, which are of the first schema', { name: 'a' }, 2, { title: 'a' }],
    ['of a run that is as old', { schemaVersion: 1, name: 'a' }, 1, { name: 'a' }],
    ['of a run whose version is newer', { schemaVersion: 1, name: 'a' }, 9, { name: 'a' }],
    ['of a run whose version is not known', { schemaVersion: 1, name: 'a' }, null, { name: 'a' }],
  ])('%s, fit their run', (_name, stored, version, expected) => {
    expect(settingsAt<object>(stored, version, chain)).toEqual(expected);
  });
});

describe('the present chain', () => {
  it('leads to the present schema from each one before', () => {
    expect(upgrades.to).toBe(schemaVersion);
    const versions = Array.from({ length: schemaVersion - 1 }, (_, index) => index + 1);
    expect([...upgrades.steps.keys()].sort()).toEqual(versions);
  });

  it('knows the version of the package', () => {
    expect(pawlVersion).toBe(manifest.version);
  });
});
