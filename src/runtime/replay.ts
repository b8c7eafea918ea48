/**
 * Lets the machine decide a stored run again: it hears what it heard then, from the journal, with the replies and results
 * of the transcript. Nothing is carried out, nobody is asked.
 */
import { isDeepStrictEqual } from 'node:util';
import { invalidInput } from '../core/errors.ts';
import { heardEvent, type JournalEntry, reopened } from '../core/journal.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import { add } from '../core/ledger.ts';
import { beforeModelCall, beginModelCall } from '../core/model-steps.ts';
import type { RunContext } from '../core/run-context.ts';
import type { RunSnapshot, SavedRun, SavedTurn, StepRecord, Store } from '../stores/store.ts';
import { checkRunId } from './checks.ts';
import { inertRun } from './inert-run.ts';
import { stateName } from './run-watch.ts';
import { checkStored, checkTurn, reopenedContext, unknownRun } from './stored-run.ts';

/** Where a replay first comes to something else than the store has. */
export interface ReplayDifference {
  /** The step that the difference shows in. Null: only what the run is at last differs. */
  readonly saveVersion: number | null;
  /** `state`, `spend.costMicros`, `context.messages[3].content[0]`, … */
  readonly path: string;
  readonly stored: Json;
  readonly replayed: Json;
}

export interface Replay {
  readonly runId: string;
  /** The turn that it began with: the first one that is kept since the transcript was last compacted. */
  readonly fromTurn: number;
  readonly turns: number;
  /** How many events were heard again, and how many of them were model replies and results of calls. */
  readonly events: number;
  readonly replies: number;
  readonly results: number;
  /** Null: every step, and all that the run knows at last, came out byte for byte as it is stored. */
  readonly difference: ReplayDifference | null;
}

/**
 * Plays a stored run again, offline and without its tools and models, and compares what comes out with what is stored.
 * A difference says that this version of Pawl would have decided something differently. Changes nothing.
 * @throws PawlError `unknown_run`; `invalid_input` for a run without a turn to begin with; `snapshot_incompatible`
 */
export async function replayRun(store: Store, runId: string): Promise<Replay> {
  checkRunId(runId);
  const saved = await store.load(runId);
  if (!saved) throw unknownRun(runId);
  const { snapshot } = checkStored(saved);
  const start = await firstTurn(store, saved);
  const steps = await store.steps(runId);
  const first = steps.findIndex(({ turn }) => turn >= start.turn);
  return played(saved, snapshot, start, first === -1 ? [] : steps.slice(first));
}

/** Of the newest transcript: an earlier one said the same in other words. */
async function firstTurn(store: Store, saved: SavedRun): Promise<SavedTurn> {
  for (let turn = 1; turn <= saved.head.turn; turn += 1) {
    const kept = await store.loadTurn(saved.runId, turn);
    if (kept?.generation === saved.generation) return checkTurn(kept);
  }
  throw invalidInput('run', 'a run with a turn that is kept', saved.runId);
}

function played(
  saved: SavedRun,
  { context }: RunSnapshot,
  start: SavedTurn,
  steps: readonly StepRecord[],
): Replay {
  const { settings, messages, generation } = start;
  const carried = { ...(start.context as unknown as RunContext), generation };
  const { limits } = carried.ledger;
  const run = inertRun({ settings, limits, messages, carried });
  const counts = { events: 0, replies: 0, results: 0 };
  let now = begun(run, start);
  let difference: ReplayDifference | null = null;
  for (const step of steps) {
    for (const entry of step.events.filter(({ turn }) => turn >= start.turn)) {
      count(counts, entry);
      now =
        entry.event.type === reopened
          ? run.at({ active: 'awaitBudget' }, reopenedContext(now.context))
          : run.after(now, heardEvent(entry, saved));
    }
    difference = differenceIn('', recordOf(step), recordNow(now));
    if (difference) return done({ ...difference, saveVersion: step.saveVersion });
  }
  // What the last reply left behind is of a turn before the first one here.
  const { answer, stopReason, rawStopReason, cutCalls } = context as unknown as RunContext;
  const earlier = counts.replies === 0 && { answer, stopReason, rawStopReason, cutCalls };
  return done(differenceIn('context', asJson(context), asJson({ ...now.context, ...earlier })));

  function done(found: ReplayDifference | null): Replay {
    const turns = saved.head.turn - start.turn + 1;
    return { runId: saved.runId, fromTurn: start.turn, turns, ...counts, difference: found };
  }
}

/**
 * The run with its first turn under way. What the budget check said is not asked again: it saw the transcript without
 * what was steered, which the turn's beginning has.
 */
function begun({ first, at }: ReturnType<typeof inertRun>, { turn }: SavedTurn): typeof first {
  const { context, value } = first;
  if (stateName(value) === 'wrapUp') return first;
  const before = context.turn < turn ? context : beforeModelCall(context, 'turn');
  return at({ active: 'callModel' }, { ...before, ...beginModelCall(before, 'turn') });
}

function count(counts: { events: number; replies: number; results: number }, entry: JournalEntry) {
  const { type, output } = entry.event;
  counts.events += 1;
  if (type === 'xstate.done.actor.tool') counts.results += 1;
  if (isJsonObject(output) && output.kind === 'reply') counts.replies += 1;
}

const recordOf = ({ state, turn, spend }: StepRecord): Json => asJson({ state, turn, spend });

function recordNow({ value, context }: ReturnType<typeof inertRun>['first']): Json {
  const { ledger, turn } = context;
  const { inputTokens, outputTokens, costMicros } = add(ledger.spent, ledger.uncertain);
  const spend = { inputTokens, outputTokens, costMicros, activeMs: ledger.activeMs };
  return asJson({ state: stateName(value), turn, spend });
}

const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value));

/** The first place at which two values are not the same. */
function differenceIn(path: string, stored: Json, replayed: Json): ReplayDifference | null {
  if (isDeepStrictEqual(stored, replayed)) return null;
  const deeper = partsOf(stored, replayed).map(([key, one, other]) =>
    differenceIn(path === '' ? key.replace(/^\./, '') : `${path}${key}`, one, other),
  );
  return deeper.find((found) => found !== null) ?? { saveVersion: null, path, stored, replayed };
}

/** The parts that both have, in the order of the first. */
function partsOf(one: Json, other: Json): readonly (readonly [string, Json, Json])[] {
  if (Array.isArray(one) && Array.isArray(other)) {
    const length = Math.max(one.length, other.length);
    return Array.from({ length }, (_, at) => [`[${at}]`, one[at] ?? null, other[at] ?? null]);
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return [];
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  const field = (object: typeof one, key: string): Json =>
    Object.hasOwn(object, key) ? (object[key] ?? null) : null;
  return keys.map((key) => [`.${key}`, field(one, key), field(other, key)]);
}
