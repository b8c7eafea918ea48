/** Runs as a store has them, made ready to go on: as they are, reopened after their end, or forked at a turn. */
import { isDeepStrictEqual } from 'node:util';
import type { AgentLoopEvent } from '../../machines/agent-loop-events.ts';
import { namedLimits } from '../core/budget.ts';
import { expand } from '../core/checkpoint.ts';
import { partsProblem } from '../core/checkpoint-shape.ts';
import { partProblem } from '../core/context-shape.ts';
import { describeGot, invalidInput, PawlError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { RunContext, RunInput, RunSettings } from '../core/run-context.ts';
import { jsonMisfit } from '../core/shape.ts';
import { settingsAt, upgraded, versionOf } from '../core/upgrade.ts';
import { type Upgrades, upgrades } from '../core/upgrades.ts';
import type { RunSnapshot, SavedRun, SavedTurn, SaveStep, Store } from '../stores/store.ts';
import { settingsOf } from './agent-input.ts';
import type { AgentOptions, ForkOptions, ResumeOptions } from './agent-options.ts';
import type { AgentParts } from './agent-parts.ts';
import { checkForkOptions } from './check-options.ts';
import { checkSnapshot, unreadable } from './check-snapshot.ts';
import { checkHistory } from './checks.ts';
import { checkPriced } from './run-checks.ts';
import { type Known, knownOf, nothingKnown } from './step-builder.ts';

type Begin = NonNullable<SaveStep['begin']>;

export interface StoredRun {
  readonly runId: string;
  readonly snapshot: RunSnapshot;
  readonly known: Known;
  readonly tags: readonly string[];
  /** Null: the store knows the run. */
  readonly begin: Begin | null;
}

/** A run with what has to be said to it first. */
export interface Reopened extends StoredRun {
  readonly events: readonly AgentLoopEvent[];
  /** It had ended. */
  readonly isReopened: boolean;
}

/** The newest save of a run, or a snapshot that somebody kept. @throws PawlError `snapshot_incompatible`, `unknown_run` */
export async function storedRun(
  store: Store,
  run: string | RunSnapshot,
  chain: Upgrades = upgrades,
): Promise<StoredRun> {
  if (typeof run === 'string') {
    const saved = await store.load(run);
    if (!saved) throw unknownRun(run);
    const { snapshot, runId } = checkStored(saved, chain);
    return { runId, snapshot, known: knownOf(saved), tags: saved.head.tags, begin: null };
  }
  const { snapshot, runId } = checkSnapshot(run, chain);
  const saved = await store.load(runId);
  if (!saved) {
    const { settings } = snapshot.context as unknown as RunContext;
    const begin: Begin = { settings, base: null, forkOf: null, lease: null };
    return { runId, snapshot, known: nothingKnown, tags: [], begin };
  }
  if (!isNewest(snapshot, checkStored(saved, chain).snapshot)) throw stale(runId, saved);
  return { runId, snapshot, known: knownOf(saved), tags: saved.head.tags, begin: null };
}

/** To go on from an older moment than the store has would do again what was done since. */
const isNewest = (snapshot: RunSnapshot, saved: RunSnapshot): boolean =>
  isDeepStrictEqual(asJson(snapshot), asJson(saved));

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const stale = (runId: string, { saveVersion }: SavedRun): PawlError =>
  new PawlError(
    'stale_snapshot',
    `The store has another state of run "${runId}" (save ${saveVersion}) than this snapshot. Nothing was done; resume the run by its id, or fork it.`,
  );

/** What a store gave, put together as it was saved. @throws PawlError `snapshot_incompatible` */
export function snapshotOf(saved: SavedRun, chain: Upgrades = upgrades): RunSnapshot {
  const { settings, checkpoint, messages, results } = saved;
  const problem = partsProblem(saved);
  if (problem) throw unreadable(problem);
  const then = settingsAt(settings, versionOf(checkpoint), chain);
  return expand<RunSnapshot>({ settings: then, checkpoint, messages, results });
}

/** A stored run as this version can go on with it. @throws PawlError `snapshot_incompatible` */
export function checkStored(saved: SavedRun, chain: Upgrades = upgrades) {
  const checked = checkSnapshot(snapshotOf(saved, chain), chain);
  if (checked.runId === saved.runId) return checked;
  const { runId } = checked;
  throw unreadable({
    path: 'context.settings.runId',
    expected: describeGot(saved.runId),
    got: runId,
  });
}

/** A turn as a fork of this version can begin with it. @throws PawlError `snapshot_incompatible` */
export function checkTurn(saved: SavedTurn, chain: Upgrades = upgrades): SavedTurn {
  const { schemaVersion = 1, ...rest } = saved.context;
  const version = versionOf({ context: { schemaVersion } });
  const settings = settingsAt(saved.settings, version, chain);
  const { context } = upgraded(
    { context: { ...rest, schemaVersion, settings: settings as unknown as Json } },
    chain,
  );
  const problem =
    jsonMisfit({ context }) ??
    partProblem({ ...context, messages: saved.messages }) ??
    hasLedger(context);
  if (problem) throw unreadable(problem);
  const { settings: known, ...carried } = context;
  return { ...saved, settings: known as unknown as RunSettings, context: carried };
}

const hasLedger = ({ ledger }: SavedTurn['context']) =>
  ledger === undefined ? { path: 'context.ledger', expected: 'an object', got: ledger } : null;

/** A final state takes no event, so a run that may go on is put where it would wait for a budget, and is given one. */
export function reopenedRun(stored: StoredRun, { budget, retry }: ResumeOptions): Reopened {
  const { models } = (stored.snapshot.context as unknown as RunContext).settings;
  const limits = namedLimits(budget ?? {});
  checkPriced(limits, models, budget?.maxCostUsd);
  const raised: AgentLoopEvent = { type: 'budget.raised', limits, atMs: Date.now() };
  const { status } = stored.snapshot.context as unknown as RunContext;
  const goesOn = (status === 'exhausted' && budget) || (status === 'failed' && retry);
  if (goesOn) {
    const snapshot = reopened(stored.snapshot);
    return { ...stored, snapshot, events: [raised], isReopened: true };
  }
  return { ...stored, events: budget && status === null ? [raised] : [], isReopened: false };
}

function reopened({ output: _, ...snapshot }: RunSnapshot): RunSnapshot {
  return {
    ...(snapshot as RunSnapshot),
    status: 'active',
    value: { active: 'awaitBudget' },
    children: {},
    context: { ...reopenedContext(snapshot.context as unknown as RunContext) },
  };
}

export const reopenedContext = (context: RunContext): RunContext => ({
  ...context,
  status: null,
  limit: null,
  failure: null,
  refusal: null,
});

/** A new run from a turn of another: also of one that has ended. The transcript up to there is shared, not copied. */
export async function forkOf(
  store: Store,
  options: AgentOptions,
  parts: AgentParts,
  runId: string,
  fork: ForkOptions,
  chain: Upgrades = upgrades,
) {
  checkForkOptions(fork);
  const found = await store.loadTurn(runId, fork.atTurn);
  const from = found && checkTurn(found, chain);
  if (!from) throw noSuchTurn(await store.load(runId), runId, fork.atTurn);
  const settings = settingsOf(options, parts, { runId: fork.runId, onLimit: fork.onLimit });
  const messages = fork.edit ? edited(fork.edit(from.messages)) : from.messages;
  const carried = carriedOver(from, fork, messages, settings);
  checkPriced(carried.ledger.limits, settings.models, fork.budget?.maxCostUsd);
  const shared = sharedLength(from.messages, messages);
  const base = { runId, generation: from.generation, length: shared };
  const begin: Begin = { settings, base, forkOf: { runId, turn: fork.atTurn }, lease: null };
  const { limits } = carried.ledger;
  const input: RunInput = { settings, limits, messages, carried, atMs: parts.now() };
  const known: Known = { ...nothingKnown, messages: shared, turn: fork.atTurn - 1 };
  return { id: settings.runId, source: { input }, known, tags: fork.tags ?? [], begin };
}

function carriedOver(
  from: SavedTurn,
  { budget }: ForkOptions,
  messages: readonly Message[],
  settings: RunInput['settings'],
): Partial<RunContext> & Pick<RunContext, 'ledger'> {
  const context = from.context as unknown as Partial<RunContext> & Pick<RunContext, 'ledger'>;
  const { contextTokens, countedBy, warned, ...rest } = context;
  const limits = { ...context.ledger.limits, ...namedLimits(budget ?? {}) };
  // What was counted holds only for the same words, said to the same model.
  const isCounted =
    messages === from.messages &&
    settings.prefixTokens === from.settings.prefixTokens &&
    settings.models[0].id === from.settings.models[0].id;
  return {
    ...rest,
    ...(isCounted && { contextTokens, countedBy }),
    ...(!budget && { warned }),
    ledger: { ...context.ledger, limits },
  } as Partial<RunContext> & Pick<RunContext, 'ledger'>;
}

function edited(messages: readonly Message[]): readonly Message[] {
  checkHistory(messages);
  if (messages.at(-1)?.role === 'user') return messages;
  throw invalidInput('edit', 'a history that ends with a message of the user', messages);
}

function sharedLength(before: readonly Message[], after: readonly Message[]): number {
  const differs = after.findIndex((message, index) => !isDeepStrictEqual(message, before[index]));
  return differs === -1 ? after.length : differs;
}

export const unknownRun = (runId: string): PawlError =>
  new PawlError('unknown_run', `The store knows no run "${runId}".`);

const noSuchTurn = (saved: SavedRun | null, runId: string, turn: number): PawlError =>
  saved
    ? new PawlError(
        'invalid_input',
        `atTurn: expected a turn of run "${runId}" that is kept (it is at turn ${saved.head.turn}), got ${turn}.`,
      )
    : unknownRun(runId);
