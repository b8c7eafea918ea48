/** What is new in a run since its last save, as a step for the store. */
import type { AnyEventObject } from 'xstate';
import { compact } from '../core/checkpoint.ts';
import { journalEntry, kindOf } from '../core/journal.ts';
import type { Json } from '../core/json.ts';
import { add } from '../core/ledger.ts';
import { beforeModelCall } from '../core/model-steps.ts';
import type { RunContext } from '../core/run-context.ts';
import { stamped } from '../core/upgrade.ts';
import type { RunHead, RunSnapshot, SavedRun, SaveStep, WaitingFor } from '../stores/store.ts';
import { stateName } from './run-watch.ts';

/** What the store has of a run already. */
export interface Known {
  readonly saveVersion: number;
  readonly generation: number;
  readonly messages: number;
  /** Tool uses of the open batch whose results are stored. */
  readonly results: ReadonlySet<string>;
  readonly turn: number;
}

export const nothingKnown: Known = {
  saveVersion: 0,
  generation: 0,
  messages: 0,
  results: new Set(),
  turn: 0,
};

export const knownOf = ({ saveVersion, generation, messages, results, head }: SavedRun): Known => ({
  saveVersion,
  generation,
  messages: messages.length,
  results: new Set(results.map(({ tool_use_id }) => tool_use_id)),
  turn: head.turn,
});

export type StepParts = Omit<SaveStep, 'runId' | 'follows'>;

export interface StepBuilder {
  /** The run as it is now. Never called inside a transition. `saved` has to be called once the step is durable. */
  next(): { readonly step: StepParts; readonly saved: () => void };
  /** An event that was posted for the run is told to it now: the next step drops it. False: it was told before. */
  noteHeard(number: number): boolean;
  /** The event that changes the run now, heard by the run itself or by a child of it. */
  noteEvent(event: AnyEventObject, isOfRun: boolean): void;
  /** A turn began: the run as it is right after. */
  noteTurn(run: { readonly value: unknown; readonly context: RunContext }): void;
}

export function stepBuilder(options: {
  readonly snapshotNow: () => RunSnapshot;
  readonly turnNow: () => number;
  readonly isWaiting: () => boolean;
  readonly begin: SaveStep['begin'];
  readonly known: Known;
  readonly tags: readonly string[];
  readonly now: () => number;
}): StepBuilder {
  let { known, begin } = options;
  let heard: readonly number[] = [];
  const allHeard = new Set<number>();
  let cause = 'run.started';
  let turnStart: SaveStep['turnStart'] = null;
  let events: readonly { readonly turn: number; readonly event: AnyEventObject }[] = [];
  return {
    noteHeard(number) {
      if (allHeard.has(number)) return false;
      allHeard.add(number);
      heard = [...heard, number];
      return true;
    },
    noteEvent(event, isOfRun) {
      cause = kindOf(event.type);
      if (isOfRun) events = [...events, { turn: options.turnNow(), event }];
    },
    noteTurn({ value, context }) {
      turnStart = turnStartOf(context, stateName(value) === 'wrapUp' ? 'wrapUp' : 'turn');
    },
    next() {
      const snapshot = options.snapshotNow();
      const context = snapshot.context as unknown as RunContext;
      const { checkpoint, messages, results } = compact(snapshot);
      const isNewTranscript = context.generation !== known.generation;
      const position = isNewTranscript ? 0 : known.messages;
      const told = heard;
      const noted = events;
      const begun = turnStart;
      const step: StepParts = {
        begin: begin && { ...begin, settings: stamped(begin.settings) },
        checkpoint,
        generation: context.generation,
        position,
        messages: messages.slice(position),
        results: results.filter(({ tool_use_id }) => !known.results.has(tool_use_id)),
        closesBatch: results.length === 0 && known.results.size > 0,
        turnStart: begun,
        record: {
          ...standingOf(context, snapshot.value),
          cause,
          atMs: options.now(),
          events: noted.map(({ turn, event }) => journalEntry(turn, event, context)),
        },
        head: headOf(context, snapshot, options),
        heard: told,
      };
      const next: Known = {
        saveVersion: known.saveVersion + 1,
        generation: context.generation,
        messages: messages.length,
        results: new Set(results.map(({ tool_use_id }) => tool_use_id)),
        turn: context.turn,
      };
      const saved = (): void => {
        known = next;
        begin = null;
        heard = heard.filter((number) => !told.includes(number));
        events = events.slice(noted.length);
        if (turnStart === begun) turnStart = null;
      };
      return { step, saved };
    },
  };
}

/** A fork begins before the call that the turn began with. */
function turnStartOf(context: RunContext, kind: 'turn' | 'wrapUp'): SaveStep['turnStart'] {
  const before = beforeModelCall(context, kind);
  const { generation, messages, contextTokens, countedBy, usage, container } = before;
  const carried = {
    schemaVersion: context.schemaVersion,
    turn: before.turn,
    contextTokens,
    countedBy,
    usage,
    container,
    ledger: before.ledger,
    repeats: context.repeats,
    malformedReplies: context.malformedReplies,
    compactedLength: context.compactedLength,
    warned: context.warned,
    continuations: context.continuations,
    ...(context.continuations > 0 && { answer: context.answer }),
    ...(before.steered.length > 0 && { steered: before.steered }),
  } satisfies Partial<RunContext>;
  const json = carried as unknown as { readonly [key: string]: Json };
  return { turn: context.turn, generation, length: messages.length, context: json };
}

/** The part of a step's record that the run itself decides. */
export function standingOf(
  { ledger, turn }: RunContext,
  value: unknown,
): Pick<SaveStep['record'], 'state' | 'turn' | 'spend'> {
  const { inputTokens, outputTokens, costMicros } = add(ledger.spent, ledger.uncertain);
  const spend = { inputTokens, outputTokens, costMicros, activeMs: ledger.activeMs };
  return { state: stateName(value), turn, spend };
}

function headOf(
  context: RunContext,
  { value }: RunSnapshot,
  { isWaiting, tags }: { readonly isWaiting: () => boolean; readonly tags: readonly string[] },
): RunHead {
  const state = stateName(value);
  const { agent } = context.settings;
  const status = context.status ?? (isWaiting() ? 'waiting' : 'running');
  const { deadlineAt } = context.ledger.limits;
  const hasDeadline = deadlineAt !== null && context.status === null;
  return {
    ...{ status, state, agent, tags, turn: context.turn, waits: waitsOf(context, state) },
    ...(hasDeadline && { deadlineAtMs: deadlineAt }),
  };
}

function waitsOf({ calls, status }: RunContext, state: string): readonly WaitingFor[] {
  if (status !== null) return [];
  if (state === 'awaitBudget') return [{ for: 'budget', callId: null, tool: null }];
  if (state === 'paused') return [{ for: 'resume', callId: null, tool: null }];
  return calls.flatMap(({ id, name, waits, result }) =>
    waits && !result ? [{ for: waits.for, callId: id, tool: name }] : [],
  );
}
