/** A run in this process: its machine at work, saved, watched, and closed once. */
import {
  type Actor,
  createActor,
  type InspectionEvent,
  type Observer,
  type Snapshot,
} from 'xstate';
import type { AgentLoopEvent } from '../../machines/agent-loop-events.ts';
import { closeCalls } from '../core/call-steps.ts';
import { copyJson } from '../core/copy-json.ts';
import { PawlError, toFailure } from '../core/errors.ts';
import type { Failure } from '../core/failure.ts';
import { reopened } from '../core/journal.ts';
import { joinSteered } from '../core/model-steps.ts';
import type { RunContext, RunInput } from '../core/run-context.ts';
import type { RunEvent } from '../core/run-event.ts';
import { describeThrown } from '../core/stringify.ts';
import type { Posted, RunSnapshot, SaveStep } from '../stores/store.ts';
import type { AgentMachine } from './agent-machine.ts';
import type { AgentParts } from './agent-parts.ts';
import type { groupCommit, Saver } from './commits.ts';
import { emitterFor } from './emit.ts';
import { createFeed } from './feed.ts';
import type { Keeper } from './keeper.ts';
import { nameOfOwner } from './owner.ts';
import { isForRuns } from './posted-events.ts';
import { type RunResult, resultOf } from './run-result.ts';
import { watchSteps, watchWaits } from './run-watch.ts';
import { meterFor, useServices } from './services.ts';
import { whenAborted } from './shared-signal.ts';
import { createSlots } from './slots.ts';
import { type Known, stepBuilder } from './step-builder.ts';

export interface RunOptions {
  readonly parts: AgentParts;
  readonly machine: AgentMachine;
  readonly commits: ReturnType<typeof groupCommit>;
  readonly toolConcurrency: number;
  readonly source: { readonly input: RunInput } | { readonly snapshot: RunSnapshot };
  /** What the store has of the run already. */
  readonly known: Known;
  /** With a run that the store does not know yet. */
  readonly begin: SaveStep['begin'];
  readonly tags: readonly string[];
  /** It had ended, and the snapshot was changed so that it goes on. Default false. */
  readonly isReopened?: boolean;
  readonly keeper: Keeper;
  /** Until when the run is this process's own, as far as the store knows. */
  readonly leaseUntilMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void) | undefined;
  /** Called once, when the run can do nothing any more in this process. */
  readonly onClosed: (hasEnded: boolean) => void;
}

/** What the handle of a run is made from. */
export interface LiveRun {
  readonly runId: string;
  readonly actor: Actor<AgentMachine>;
  readonly events: AsyncIterable<RunEvent>;
  readonly result: Promise<RunResult>;
  contextNow(): RunContext;
  snapshotNow(): RunSnapshot;
  isOver(): boolean;
  /** @throws PawlError `run_finished` */
  send(event: AgentLoopEvent): void;
  /** Everything that has changed so far is durable. */
  saved(): Promise<void>;
  suspend(): Promise<RunSnapshot>;
  /** Something was posted for the run in its store. */
  hear(posted: Posted): void;
}

export function startLiveRun(options: RunOptions): LiveRun {
  const { parts, source } = options;
  const runId = runIdOf(source);
  const feed = createFeed<RunEvent>();
  const announce = emitterFor(parts, runId, feed.tell);
  const actor = actorFor(options);
  announce({ type: 'run.started', isResumed: 'snapshot' in source });
  if ('input' in source) announce({ type: 'state.entered', state: 'checkBudget' });
  const steps = watchSteps(announce, actor);
  watchWaits(announce, actor);

  const contextNow = (): RunContext => actor.getSnapshot().context;
  const isOver = (): boolean => actor.getSnapshot().status !== 'active' || closed;
  let closed = false;
  let leaveSignal = (): void => {};
  const { promise: result, resolve: resolveResult } = deferred<RunResult>();
  const close = (status: RunResult['status'], context: RunContext, failure?: Failure): void => {
    if (closed) return;
    closed = true;
    leaveSignal();
    const outcome = redacted(parts, resultOf(context, status, failure));
    if (status !== 'suspended') announce({ type: 'run.ended', status, reason: outcome.reason });
    feed.end();
    options.onClosed(status !== 'suspended' && failure === undefined);
    resolveResult(outcome);
  };

  // The run as it was when it was stopped: nobody can go on from the snapshot of a stopped actor.
  let left: RunSnapshot | null = null;
  const snapshotNow = (): RunSnapshot =>
    left ?? (actor.getPersistedSnapshot() as unknown as RunSnapshot);
  const stop = (): void => {
    left = snapshotNow();
    actor.stop();
  };
  /** Stopped from outside the machine, which never hears of it: what was open is answered for the caller only. */
  const fail = (failure: Failure): void => {
    if (closed) return;
    stop();
    void options.keeper.leave(runId);
    const context = contextNow();
    const settled = { ...context, ...closeCalls(context, 'The run was stopped by a failure.') };
    const answered = { ...settled, ...joinSteered(settled) };
    steps.note(answered);
    close('failed', answered, failure);
  };
  const finish = async (saver: Saver): Promise<void> => {
    const { status, context } = actor.getSnapshot();
    if (status !== 'done') return;
    await saver.saved().catch(() => {});
    await options.keeper.leave(runId);
    close(context.status ?? 'failed', context);
  };

  const builder = stepBuilder({
    snapshotNow,
    turnNow: () => contextNow().turn,
    isWaiting: () => actor.getSnapshot().hasTag('waitsForHuman'),
    begin: options.begin,
    known: options.known,
    tags: options.tags,
    now: parts.now,
  });
  const saver = options.commits.saverFor({
    runId,
    builder,
    saveVersion: options.known.saveVersion,
    onFailed: (error) => fail(toFailure(error)),
  });
  useServices(actor, {
    ...saver,
    noteChange(event, isOfRun) {
      builder.noteEvent(event, isOfRun);
      saver.noteChange();
    },
    noteTurn: builder.noteTurn,
    noteSteps: steps.look,
    meter: meterFor(actor),
    isHeld: () => options.keeper.isHeld(runId),
    regain: () => options.keeper.regain(runId),
    slots: createSlots(options.toolConcurrency),
    emit: announce,
  });
  actor.subscribe({
    complete: () => void finish(saver),
    error: (error) => fail({ code: 'internal', message: describeThrown(error) }),
  });
  const send = (event: AgentLoopEvent): void => {
    if (isOver()) throw finished(runId);
    actor.send(event);
  };
  const onAbort = (): void => {
    const reason = describeThrown(options.signal?.reason);
    if (!isOver()) actor.send({ type: 'run.cancelled', reason });
  };

  const hear = ({ number, event }: Posted): void => {
    if (event.notFor === options.keeper.owner) return;
    if (!builder.noteHeard(number)) return;
    saver.noteChange();
    if (!isOver() && isForRuns(event)) actor.send(event);
  };

  if (contextNow().turn > options.known.turn) builder.noteTurn(actor.getSnapshot());
  if (options.isReopened) builder.noteEvent({ type: reopened }, true);
  if (options.begin) saver.noteChange();
  options.keeper.keep({
    runId,
    leaseUntilMs: options.leaseUntilMs,
    hear,
    onLost: (owner) => fail(toFailure(lockedBy(runId, owner))),
    prove: () => {
      saver.noteChange();
      return saver.saved();
    },
  });
  actor.start();
  if (options.signal && !isOver()) leaveSignal = whenAborted(options.signal, onAbort);
  if (options.signal?.aborted) onAbort();

  return {
    runId,
    actor,
    events: feed.events,
    result,
    contextNow,
    snapshotNow,
    isOver,
    send,
    saved: saver.saved,
    hear,
    async suspend() {
      // What changed while it was being saved has to be saved too: after the stop it is too late.
      do await saver.saved();
      while (saver.isBehind());
      const snapshot = snapshotNow();
      if (!isOver()) {
        stop();
        await options.keeper.leave(runId);
        close('suspended', contextNow());
      }
      return snapshot;
    },
  };
}

function actorFor({ machine, source, inspect }: RunOptions): Actor<AgentMachine> {
  const actor = createActor(machine, {
    ...('input' in source
      ? { input: source.input }
      : { input: undefined as never, snapshot: asSnapshot(source.snapshot) }),
    ...(inspect && { inspect }),
  });
  throwIfUnreadable(actor.getSnapshot());
  return actor;
}

/** The history keeps what was said; what people and logs read does not. */
const redacted = ({ redactor }: AgentParts, result: RunResult): RunResult => ({
  ...result,
  reason: redactor.text(result.reason),
  error: redactor.value(result.error),
});

/** A copy: the caller may keep its own, and the store too. */
const asSnapshot = (snapshot: RunSnapshot) => copyJson(snapshot) as unknown as Snapshot<unknown>;

const runIdOf = (source: RunOptions['source']): string =>
  'input' in source
    ? source.input.settings.runId
    : (source.snapshot.context as unknown as RunContext).settings.runId;

function throwIfUnreadable(snapshot: { readonly status: string; readonly error?: unknown }): void {
  if (snapshot.status !== 'error') return;
  if (PawlError.is(snapshot.error)) throw snapshot.error;
  throw new PawlError(
    'snapshot_incompatible',
    `The snapshot does not fit this version of the machine: ${describeThrown(snapshot.error)}. It was left as it is.`,
    { cause: snapshot.error },
  );
}

export const finished = (runId: string): PawlError =>
  new PawlError(
    'run_finished',
    `Run "${runId}" has ended; it takes no more events. Start a new one with its history.`,
  );

/** Node 20 has no `Promise.withResolvers`. */
function deferred<Value>() {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

export const lockedBy = (runId: string, owner: string): PawlError =>
  new PawlError(
    'run_locked',
    `Run "${runId}" is held by another process (${nameOfOwner(owner)}). Nothing was done; wait until it ends, or speak to it through the store.`,
  );
