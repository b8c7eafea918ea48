/**
 * Lets the machine decide a stored run again: it hears what it heard then, from the journal, with the replies and results
 * of the transcript. Nothing is carried out, nobody is asked.
 */
import { isDeepStrictEqual } from 'node:util';
import { type JournalEntry, toolDone } from '../core/journal.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import type { StepRecord, Store } from '../stores/store.ts';
import { openRerun } from './rerun.ts';
import { standingOf } from './step-builder.ts';

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
  const rerun = await openRerun(store, runId);
  const { saved, start, steps, context } = rerun;
  const turns = saved.head.turn - start.turn + 1;
  const told = { runId, fromTurn: start.turn, turns };
  const counts = { events: 0, replies: 0, results: 0 };
  let now = rerun.first;
  for (const step of steps) {
    for (const entry of rerun.entriesOf(step)) {
      count(counts, entry);
      now = rerun.after(now, entry);
    }
    const found = differenceIn('', recordOf(step), asJson(standingOf(now.context, now.value)));
    const { saveVersion } = step;
    if (found) return { ...told, ...counts, difference: { ...found, saveVersion } };
  }
  // What the last reply left behind is of a turn before the first one here.
  const { answer, stopReason, rawStopReason, cutCalls } = context;
  const earlier = counts.replies === 0 && { answer, stopReason, rawStopReason, cutCalls };
  const last = asJson({ ...now.context, ...earlier });
  return { ...told, ...counts, difference: differenceIn('context', asJson(context), last) };
}

function count(counts: { events: number; replies: number; results: number }, entry: JournalEntry) {
  const { type, output } = entry.event;
  counts.events += 1;
  if (type === toolDone) counts.results += 1;
  if (isJsonObject(output) && output.kind === 'reply') counts.replies += 1;
}

const recordOf = ({ state, turn, spend }: StepRecord): Json => asJson({ state, turn, spend });

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
