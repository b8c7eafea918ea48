/** A run as its store has it, for commands that look at it or speak to it. */
import { PawlError } from '../core/errors.ts';
import type { RunContext } from '../core/run-context.ts';
import { type Upgrades, upgrades } from '../core/upgrades.ts';
import { pendingCalls } from '../runtime/decisions.ts';
import type { PendingCall } from '../runtime/run.ts';
import { checkStored, unknownRun } from '../runtime/stored-run.ts';
import type { SavedRun, Store } from '../stores/store.ts';
import { findRunId } from './run-id.ts';

/** What was told about a call and not heard yet. */
export type Told = 'approved' | 'denied' | 'settled' | 'to run again';

export interface KnownRun {
  readonly runId: string;
  readonly saved: SavedRun;
  /** Null when this version can't go on with it: `problem` says why. */
  readonly context: RunContext | null;
  readonly problem: string | null;
  readonly pending: readonly PendingCall[];
  /** By call. */
  readonly told: ReadonlyMap<string, Told>;
}

/** @throws PawlError `unknown_run`, `invalid_input`, `store_failed` */
export async function readRun(store: Store, text: string): Promise<KnownRun> {
  const runId = await findRunId(store, text);
  const saved = await store.load(runId);
  if (!saved) throw unknownRun(runId);
  const { context, problem } = contextOf(saved);
  const pending = context === null ? [] : pendingCalls(context);
  return { runId, saved, context, problem, pending, told: await toldOf(store, runId) };
}

export function contextOf(
  saved: SavedRun,
  chain: Upgrades = upgrades,
): Pick<KnownRun, 'context' | 'problem'> {
  try {
    const { snapshot } = checkStored(saved, chain);
    return { context: snapshot.context as unknown as RunContext, problem: null };
  } catch (error) {
    if (!PawlError.is(error)) throw error;
    return { context: null, problem: error.message };
  }
}

const words: ReadonlyMap<unknown, Told> = new Map<unknown, Told>([
  ['approval.granted', 'approved'],
  ['approval.denied', 'denied'],
  ['call.settled', 'settled'],
  ['call.retried', 'to run again'],
]);

/** What was told to a run about its calls and waits to be heard. */
export async function toldOf(store: Store, runId: string): Promise<ReadonlyMap<string, Told>> {
  const told = new Map<string, Told>();
  for (const { event } of await store.posted([runId])) {
    const word = words.get(event.type);
    const { callId } = event;
    if (word !== undefined && typeof callId === 'string' && !told.has(callId)) {
      told.set(callId, word);
    }
  }
  return told;
}
