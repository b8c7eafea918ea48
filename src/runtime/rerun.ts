/** A stored run made ready to decide again: where it begins, and what it hears then. Nothing is carried out. */
import { invalidInput } from '../core/errors.ts';
import { heardEvent, type JournalEntry, reopened } from '../core/journal.ts';
import { beforeModelCall, beginModelCall } from '../core/model-steps.ts';
import type { RunContext } from '../core/run-context.ts';
import type { SavedRun, SavedTurn, StepRecord, Store } from '../stores/store.ts';
import { checkRunId } from './checks.ts';
import { type InertRun, inertRun, type Snapshot } from './inert-run.ts';
import { stateName } from './run-watch.ts';
import { checkStored, checkTurn, reopenedContext, unknownRun } from './stored-run.ts';

export interface Rerun {
  readonly saved: SavedRun;
  /** All that it knows at last. */
  readonly context: RunContext;
  /** The turn that it begins with. */
  readonly start: SavedTurn;
  /** The step in which that turn began, and all after it. */
  readonly steps: readonly StepRecord[];
  /** As it was right after the turn began. */
  readonly first: Snapshot;
  /** What it heard in a step of these. */
  entriesOf(step: StepRecord): readonly JournalEntry[];
  after(now: Snapshot, entry: JournalEntry): Snapshot;
  watch(look: (passed: Snapshot) => void): void;
}

/** @throws PawlError `unknown_run`; `invalid_input` for a run without a turn to begin with; `snapshot_incompatible` */
export async function openRerun(store: Store, runId: string): Promise<Rerun> {
  checkRunId(runId);
  const saved = await store.load(runId);
  if (!saved) throw unknownRun(runId);
  const { snapshot } = checkStored(saved);
  const start = await firstTurn(store, saved);
  const steps = await store.steps(runId);
  const first = steps.findIndex(({ turn }) => turn >= start.turn);
  const { settings, messages, generation } = start;
  const carried = { ...(start.context as unknown as RunContext), generation };
  const run = inertRun({ settings, limits: carried.ledger.limits, messages, carried });
  return {
    saved,
    context: snapshot.context as unknown as RunContext,
    start,
    steps: first === -1 ? [] : steps.slice(first),
    first: begun(run, start),
    entriesOf: ({ events }) => events.filter(({ turn }) => turn >= start.turn),
    after: (now, entry) =>
      entry.event.type === reopened
        ? run.at({ active: 'awaitBudget' }, reopenedContext(now.context))
        : run.after(now, heardEvent(entry, saved)),
    watch: run.watch,
  };
}

/** Of the newest transcript: an earlier one said the same in other words. */
async function firstTurn(store: Store, saved: SavedRun): Promise<SavedTurn> {
  for (let turn = 1; turn <= saved.head.turn; turn += 1) {
    const kept = await store.loadTurn(saved.runId, turn);
    if (kept?.generation === saved.generation) return checkTurn(kept);
  }
  throw invalidInput('run', 'a run with a turn that is kept', saved.runId);
}

/**
 * The run with its first turn under way. What the budget check said is not asked again: it saw the transcript without
 * what was steered, which the turn's beginning has.
 */
function begun({ first, at }: InertRun, { turn }: SavedTurn): Snapshot {
  const { context, value } = first;
  if (stateName(value) === 'wrapUp') return first;
  const before = context.turn < turn ? context : beforeModelCall(context, 'turn');
  return at({ active: 'callModel' }, { ...before, ...beginModelCall(before, 'turn') });
}
