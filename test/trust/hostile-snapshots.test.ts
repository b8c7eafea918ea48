/**
 * Snapshots and rows broken at every place in them. Each is refused with an error that names the place, and nothing has
 * happened; or it is a snapshot still, and the run keeps what it promises.
 */
import { memoryStore, type RunSnapshot, type SaveStep, type Store } from 'pawl';
import { describe, expect, it } from 'vitest';
import { rehearse } from '../../src/cli/rehearse.ts';
import type { SavedRun } from '../../src/stores/store.ts';
import { allMoments, chosenMoments } from '../snapshots/moments.ts';
import { newWorld, playOf, type ScenarioName, type World } from '../snapshots/scenarios.ts';
import { resumeBroken } from './hostile-kit.ts';
import { watchProcess } from './kit.ts';
import { type Mutation, mutationsOf } from './mutations.ts';

watchProcess();

/** What may be accepted: a value that is of the shape it was of. */
const isOfShape = ({ schemaPath, kind }: Mutation): boolean =>
  ofText.has(kind) ||
  ofNumber.has(kind) ||
  ofList.has(kind) ||
  kind === 'with an own constructor' ||
  (kind === 'true' && /\.(is[A-Z]\w*|streams)$/.test(schemaPath)) ||
  optional.some((pattern) => pattern.test(`${schemaPath}: ${kind}`)) ||
  foreign.test(schemaPath);

const ofText = new Set([
  ...['a text', '__proto__', 'constructor', 'an empty text', 'a lone surrogate', 'a huge text'],
]);
const ofNumber = new Set(['a number', 'a fraction', 'a huge number']);
const ofList = new Set(['a list', 'doubled', 'emptied']);

/** JSON that a model or a person wrote: any is as good. */
const foreign =
  /(^|\.)(messages\[\](\.content\[\](\.input.*)?)?|calls\[\]\.editedInput|steered\[\]|results\[\].*)$/;

const optional = [
  /(historyValue|syncSnapshot|is_error|children\.deadline|content\[\]\.model|schemaVersion): left out$/,
  /\[\]: left out$/,
  /\.(price|compactAtTokens|rawStopReason|stopReason|cancelReason|limit|refusal|failure): null$/,
  /\.(maxTurns|maxRepeats|maxMalformedReplies|deadlineAt|waits|costMicros|category|explanation): null$/,
  /^(forkOf|head)/,
];

/** Where two places disagree, the error may name the other one. */
const kin: readonly (readonly [broken: RegExp, named: RegExp])[] = [
  [/schemaVersion$/, /^(context|settings)/],
  [/^(status|value|context\.status)/, /^(status|value|context\.status|children|context\.calls)/],
  [/^context\.messages/, /^context\.calls/],
  [/^context\.calls/, /^(context\.calls|children|context\.ledger)/],
  [/^context\.settings\.tools/, /^(context\.calls|children)/],
  [/^context\.settings\.(models|retry)/, /^(children|context\.plan)/],
  [/^context\.(turn|plan)/, /^children/],
  [
    /^context\.ledger\.limits\.(deadlineAt|maxCostMicros)/,
    /^(children\.deadline|context\.settings)/,
  ],
  [/^runId$/, /^context\.settings\.runId$/],
  [/^results/, /^(context\.calls|children)/],
];

const named = (message: string): string =>
  / at (\S+), got /.exec(message)?.[1] ??
  /\((\S+)\), which it does not have/.exec(message)?.[1] ??
  '';

/** The child that a place is in, or the place itself. */
const partOf = (path: string): string => /^children(\.\w+|\["[^"]+"\])/.exec(path)?.[0] ?? path;

function namesPlace(message: string, path: string): boolean {
  if (message.includes('expected schema version')) return path.endsWith('schemaVersion');
  const place = asPlace(named(message));
  if (place === '')
    return ['', 'context', 'context.schemaVersion'].includes(path) || path.startsWith('status');
  return (
    path.startsWith(partOf(place)) ||
    place.startsWith(path) ||
    kin.some(([broken, other]) => broken.test(path) && other.test(place))
  );
}

/** Each kind of breakage once at each place of the schema. */
function* freshMutations<Base extends { readonly whole: unknown }>(
  bases: Iterable<Base>,
): Generator<readonly [Base, Mutation]> {
  const seen = new Set<string>();
  for (const base of bases) {
    for (const mutation of mutationsOf(base.whole)) {
      const key = `${mutation.schemaPath} ${mutation.kind}`;
      if (seen.has(key)) continue;
      seen.add(key);
      yield [base, mutation];
    }
  }
}

interface Tally {
  refused: number;
  accepted: number;
}

const told = (what: string, { refused, accepted }: Tally): void =>
  console.log(`hostile ${what}: ${refused} refused, ${accepted} harmless`);

describe('a broken snapshot', () => {
  it('is refused where it is broken, or is a snapshot still', { timeout: 120_000 }, async () => {
    const bases = [...chosenMoments(await allMoments()).values()].map((moment) => ({
      ...moment,
      whole: moment.snapshot,
    }));
    const tally: Tally = { refused: 0, accepted: 0 };
    for (const [{ scenario, world }, mutation] of freshMutations(bases)) {
      const where = `${mutation.path}: ${mutation.kind}`;
      const run = mutation.apply() as RunSnapshot;
      if (typeof run === 'string') continue;
      const error = await resumeBroken({ scenario, world, run }).catch((thrown: unknown) => {
        throw new Error(`${where}: ${String(thrown)}`, { cause: thrown });
      });
      if (error === null) {
        tally.accepted += 1;
        expect(isOfShape(mutation), where).toBe(true);
        continue;
      }
      tally.refused += 1;
      expect(error.code, where).toBe('snapshot_incompatible');
      expect(error.message.length, where).toBeLessThan(1_000);
      expect(namesPlace(error.message, mutation.path), `${where}: ${error.message}`).toBe(true);
    }
    told('snapshots', tally);
    expect(tally.refused).toBeGreaterThanOrEqual(3_000);
    expect(tally.accepted).toBeGreaterThanOrEqual(300);
  });
});

interface Kept {
  readonly scenario: ScenarioName;
  readonly world: World;
  readonly steps: readonly SaveStep[];
  readonly whole: SavedRun;
}

/** A run that was left, with the steps that a store gets to have it again. */
async function keptRun(scenario: ScenarioName): Promise<Kept> {
  const world = newWorld();
  const store = memoryStore();
  const steps: SaveStep[] = [];
  const noting: Store = {
    ...store,
    save: (saved) => {
      steps.push(...structuredClone(saved));
      return store.save(saved);
    },
  };
  const run = playOf(scenario, world, { store: noting }).start();
  await run.idle();
  await run.suspend();
  const whole = await store.load(scenario);
  if (!whole) throw new Error(`The store does not have ${scenario}.`);
  return { scenario, world, steps, whole: JSON.parse(JSON.stringify(whole)) };
}

/** A store that gives another row, until the run saves one. */
async function storeOf(steps: readonly SaveStep[], rowNow: () => unknown): Promise<Store> {
  const store = memoryStore();
  for (const step of structuredClone(steps)) {
    await store.save([step.begin ? { ...step, begin: { ...step.begin, lease: null } } : step]);
  }
  let isRead = false;
  return {
    ...store,
    // What the run itself saves later is as it should be.
    load: async (runId) => (isRead ? store.load(runId) : (rowNow() as SavedRun)),
    save: (saved) => {
      isRead = true;
      return store.save(saved);
    },
  };
}

/** The place as a snapshot has it. */
const asPlace = (path: string): string =>
  path.replace(/^checkpoint\.?/, '').replace(/^(settings|messages)/, 'context.$1');

describe('a broken row of a store', () => {
  it('is refused where it is broken, or is a row still', { timeout: 120_000 }, async () => {
    const bases = await Promise.all((['batch', 'budget', 'answer'] as const).map(keptRun));
    const tally: Tally = { refused: 0, accepted: 0 };
    let row: unknown = null;
    for (const [{ scenario, world, steps }, mutation] of freshMutations(bases)) {
      const where = `${mutation.path}: ${mutation.kind}`;
      row = mutation.apply();
      if (row === null) continue;
      const makeStore = () => storeOf(steps, () => row);
      const error = await resumeBroken({ scenario, world, makeStore, run: scenario }).catch(
        (thrown: unknown) => {
          throw new Error(`${where}: ${String(thrown)}`, { cause: thrown });
        },
      );
      if (error === null) {
        tally.accepted += 1;
        expect(isOfShape({ ...mutation, schemaPath: asPlace(mutation.schemaPath) }), where).toBe(
          true,
        );
        continue;
      }
      tally.refused += 1;
      expect(error.code, where).toBe('snapshot_incompatible');
      expect(namesPlace(error.message, asPlace(mutation.path)), `${where}: ${error.message}`).toBe(
        true,
      );
      if (mutation.path !== '') {
        expect(rehearse(row as SavedRun, []).verdict, where).toBe('needs');
      }
    }
    told('rows', tally);
    expect(tally.refused).toBeGreaterThanOrEqual(1_000);
    expect(tally.accepted).toBeGreaterThanOrEqual(100);
  });
});
