import { createActor, type InspectionEvent, type Observer, type Snapshot } from 'xstate';
import type { AgentLoopEvent } from '../../machines/agent-loop-events.ts';
import type { Budget } from '../core/budget.ts';
import { isApprovable, openCall } from '../core/call-steps.ts';
import { PawlError, toFailure } from '../core/errors.ts';
import type { Failure } from '../core/failure.ts';
import type { Json } from '../core/json.ts';
import { type ContentBlock, toolUsesIn } from '../core/message.ts';
import type { RunContext, RunInput } from '../core/run-context.ts';
import type { RunEvent } from '../core/run-event.ts';
import { describeThrown } from '../core/stringify.ts';
import type { Wait } from '../core/tool-call.ts';
import type { RunSnapshot } from '../stores/store.ts';
import type { AgentMachine } from './agent-machine.ts';
import type { AgentParts } from './agent-parts.ts';
import { checkPrompt } from './checks.ts';
import type { groupCommit } from './commits.ts';
import { emitterFor } from './emit.ts';
import { createFeed } from './feed.ts';
import {
  checkApproval,
  checkCallId,
  checkDenial,
  checkSettlement,
  raisedLimits,
} from './run-checks.ts';
import { type RunResult, resultOf } from './run-result.ts';
import { stateName, watchSteps, watchWaits } from './run-watch.ts';
import { meterFor, type RunServices, useServices } from './services.ts';
import { whenAborted } from './shared-signal.ts';
import { createSlots } from './slots.ts';

/** A call that waits for a person. */
export interface PendingCall {
  readonly callId: string;
  readonly name: string;
  /** The arguments as the model sent them: what an approval without `input` lets run. */
  readonly input: Json;
  readonly waits: Wait;
}

export interface Run {
  readonly id: string;
  /** What happens, in order, from the run's start in this process. Any number of listeners; leaving one stops nothing. */
  readonly events: AsyncIterable<RunEvent>;
  /** How the run ended. Never rejects: a failure is a result too. */
  readonly result: Promise<RunResult>;
  /** The state it is in: `callModel`, `executeTools.waiting`, `completed`, … */
  readonly state: string;
  /** Calls that wait for a person, several at once. */
  readonly pending: readonly PendingCall[];
  /** Resolves when the run has ended, or when nothing moves until a person says something. */
  idle(): Promise<'ended' | 'waiting'>;
  /**
   * Lets a call run, once, with exactly the arguments that were shown, or with `input` in their place. Resolves when the
   * decision is durable. `argumentsHash` is that of the event or of `pending`; default: of what waits now.
   * @throws PawlError `run_finished`, `unknown_tool_use`, `not_awaiting`, `invalid_tool_input`
   */
  approve(
    callId: string,
    options?: { readonly input?: Json; readonly argumentsHash?: string },
  ): Promise<void>;
  /** The model is told of the denial, and the reason. @throws like `approve` */
  deny(callId: string, reason?: string): Promise<void>;
  /** Says what an interrupted call came to. @throws like `approve` */
  settle(
    callId: string,
    outcome: { readonly content: string; readonly isError?: boolean },
  ): Promise<void>;
  /** Lets an interrupted call run again. @throws like `approve` */
  retry(callId: string): Promise<void>;
  /** Adds to the next user message, after the results. @throws PawlError `run_finished`, `invalid_input` */
  steer(message: string | readonly ContentBlock[]): void;
  /** Pauses before the next model call. What runs goes on to its end. */
  pause(): void;
  resume(): void;
  /** New values for the limits that are named. @throws PawlError `run_finished`, `invalid_input` */
  raiseBudget(budget: Budget): void;
  /** Stops everything, answers open calls, and ends as `cancelled`. Does nothing to a run that has ended. */
  cancel(reason?: string): void;
  /** The run at this moment, as plain JSON: for `agent.resume`, or `createActor(agent.machine, { snapshot })`. */
  snapshot(): RunSnapshot;
  /** Stops the run as a crash would, after saving it. What was running comes back as of unknown outcome. */
  suspend(): Promise<RunSnapshot>;
}

export interface OpenRun {
  readonly parts: AgentParts;
  readonly machine: AgentMachine;
  readonly commits: ReturnType<typeof groupCommit>;
  readonly toolConcurrency: number;
  readonly source:
    | { readonly input: RunInput }
    | { readonly snapshot: RunSnapshot; readonly saveVersion: number };
  readonly signal?: AbortSignal | undefined;
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void) | undefined;
  /** Called once, when the run can do nothing any more in this process. */
  readonly onClosed: () => void;
}

export function openRun(options: OpenRun): Run {
  const { parts, source } = options;
  const feed = createFeed<RunEvent>();
  const runId = runIdOf(source);
  const announce = emitterFor(parts, runId, feed.tell);

  const actor = createActor(options.machine, {
    ...('input' in source
      ? { input: source.input }
      : { input: undefined as never, snapshot: asSnapshot(source.snapshot) }),
    ...(options.inspect && { inspect: options.inspect }),
  });
  throwIfUnreadable(actor.getSnapshot());
  announce({ type: 'run.started', isResumed: 'snapshot' in source });
  if ('input' in source) announce({ type: 'state.entered', state: 'checkBudget' });
  actor.system.inspect(watchSteps(announce, actor));
  const contextNow = (): RunContext => actor.getSnapshot().context;
  const isOver = (): boolean => actor.getSnapshot().status !== 'active' || closed !== null;

  let closed: RunResult | null = null;
  let leaveSignal = (): void => {};
  const { promise: result, resolve: resolveResult } = deferred<RunResult>();
  const close = (status: RunResult['status'], failure: Failure | null = null): void => {
    if (closed) return;
    closed = redacted(parts, resultOf(contextNow(), status, failure));
    leaveSignal();
    if (status !== 'suspended') announce({ type: 'run.ended', status, reason: closed.reason });
    feed.end();
    options.onClosed();
    resolveResult(closed);
  };
  const stop = (): void => {
    left = snapshotNow();
    actor.stop();
  };
  const fail = (failure: Failure): void => {
    stop();
    close('failed', failure);
  };

  const saver = options.commits.saverFor({
    runId,
    saveVersion: 'input' in source ? 0 : source.saveVersion,
    step: () => ({ snapshot: snapshotNow(), ended: contextNow().status }),
    onFailed: (error) => fail(toFailure(error)),
  });
  // The run as it was when it was stopped: nobody can go on from the snapshot of a stopped actor.
  let left: RunSnapshot | null = null;
  const snapshotNow = (): RunSnapshot =>
    left ?? (actor.getPersistedSnapshot() as unknown as RunSnapshot);
  const services: RunServices = {
    ...saver,
    meter: meterFor(actor),
    slots: createSlots(options.toolConcurrency),
    emit: announce,
  };
  useServices(actor, services);

  watchWaits(announce, actor);
  actor.subscribe({
    complete: () => void finish(),
    error: (error) => fail({ code: 'internal', message: describeThrown(error) }),
  });
  async function finish(): Promise<void> {
    const { status, context } = actor.getSnapshot();
    if (status !== 'done') return;
    await saver.saved().catch(() => {});
    close(context.status ?? 'failed');
  }

  const send = (event: AgentLoopEvent): void => {
    if (isOver()) throw finished(runId);
    actor.send(event);
  };
  const decide = async (event: AgentLoopEvent): Promise<void> => {
    send(event);
    await saver.saved();
  };
  const waitOf = (callId: string, kind: Wait['for']): Wait => {
    if (isOver()) throw finished(runId);
    const waits = openCall(contextNow(), callId)?.waits;
    if (waits?.for === kind) return waits;
    throw notAwaiting(contextNow(), callId, kind);
  };
  const onAbort = (): void => {
    if (!isOver()) actor.send({ type: 'run.cancelled', reason: reasonOf(options.signal?.reason) });
  };

  if ('input' in source) saver.noteChange();
  actor.start();
  if (options.signal && !isOver()) leaveSignal = whenAborted(options.signal, onAbort);
  if (options.signal?.aborted) onAbort();

  return {
    id: runId,
    events: feed.events,
    result,
    get state() {
      return stateName(actor.getSnapshot().value);
    },
    get pending() {
      return isOver() ? [] : pendingCalls(contextNow());
    },
    idle: () =>
      new Promise((resolve) => {
        const look = (): void => {
          if (isOver()) void result.then(() => leave('ended'));
          else if (actor.getSnapshot().hasTag('waitsForHuman')) leave('waiting');
        };
        const leave = (state: 'ended' | 'waiting'): void => {
          subscription.unsubscribe();
          resolve(state);
        };
        const subscription = actor.subscribe({ next: look, complete: look });
        void result.then(() => leave('ended'));
        look();
      }),
    async approve(callId, approval = {}) {
      checkApproval(callId, approval);
      const { input, argumentsHash } = approval;
      const waits = waitOf(callId, 'approval');
      if (waits.for !== 'approval') return;
      const hash = argumentsHash ?? waits.argumentsHash;
      if (input !== undefined) await checkEdit(parts, contextNow(), callId, input);
      if (!isApprovable(contextNow(), callId, hash)) throw staleApproval(callId);
      await decide({
        type: 'approval.granted',
        callId,
        argumentsHash: hash,
        ...(input !== undefined && { input }),
      });
    },
    async deny(callId, reason) {
      checkDenial(callId, reason);
      waitOf(callId, 'approval');
      await decide({ type: 'approval.denied', callId, ...(reason !== undefined && { reason }) });
    },
    async settle(callId, outcome) {
      checkSettlement(callId, outcome);
      const { content, isError = false } = outcome;
      waitOf(callId, 'settlement');
      await decide({ type: 'call.settled', callId, content, isError });
    },
    async retry(callId) {
      checkCallId(callId);
      waitOf(callId, 'settlement');
      await decide({ type: 'call.retried', callId });
    },
    steer: (message) => send({ type: 'message.steered', content: checkPrompt(message, 'message') }),
    pause: () => send({ type: 'run.paused' }),
    resume: () => send({ type: 'run.resumed' }),
    raiseBudget(budget) {
      const { models } = contextNow().settings;
      send({ type: 'budget.raised', limits: raisedLimits(budget, models) });
    },
    cancel(reason) {
      if (isOver()) return;
      actor.send({ type: 'run.cancelled', ...(reason !== undefined && { reason }) });
    },
    snapshot: snapshotNow,
    async suspend() {
      // What changed while it was being saved has to be saved too: after the stop it is too late.
      do await saver.saved();
      while (saver.isBehind());
      const snapshot = snapshotNow();
      if (!isOver()) {
        stop();
        close('suspended');
      }
      return snapshot;
    },
  };
}

/** The history keeps what was said; what people and logs read does not. */
const redacted = ({ redactor }: AgentParts, result: RunResult): RunResult => ({
  ...result,
  reason: redactor.text(result.reason),
  error: redactor.value(result.error),
});

const asSnapshot = (snapshot: RunSnapshot) => snapshot as unknown as Snapshot<unknown>;

const runIdOf = (source: OpenRun['source']): string =>
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

function pendingCalls(context: RunContext): readonly PendingCall[] {
  const uses = new Map(toolUsesIn(context.messages.at(-1)).map((use) => [use.id, use]));
  return context.calls.flatMap(({ id, name, waits, result }) =>
    waits && !result ? [{ callId: id, name, input: uses.get(id)?.input ?? null, waits }] : [],
  );
}

async function checkEdit(
  { tools }: AgentParts,
  context: RunContext,
  callId: string,
  input: Json,
): Promise<void> {
  const name = openCall(context, callId)?.name ?? '';
  const parsed = await tools.get(name)?.parse(input);
  if (parsed?.ok === false) {
    throw new PawlError(
      'invalid_tool_input',
      `The input given for call "${callId}" does not fit ${name}: ${parsed.problem}`,
    );
  }
}

const finished = (runId: string): PawlError =>
  new PawlError(
    'run_finished',
    `Run "${runId}" has ended; it takes no more events. Start a new one with its history.`,
  );

const staleApproval = (callId: string): PawlError =>
  new PawlError(
    'not_awaiting',
    `The approval does not fit call "${callId}": its arguments or its tool are not what was shown. Look at it again.`,
  );

function notAwaiting(context: RunContext, callId: string, kind: Wait['for']): PawlError {
  const isKnown = context.messages.some((message) =>
    toolUsesIn(message).some(({ id }) => id === callId),
  );
  return isKnown
    ? new PawlError(
        'not_awaiting',
        `Call "${callId}" does not wait for ${kind === 'approval' ? 'an approval' : 'a settlement'} (any more).`,
      )
    : new PawlError('unknown_tool_use', `There is no tool use "${callId}" in this run.`);
}

const reasonOf = (reason: unknown): string => describeThrown(reason);

/** Node 20 has no `Promise.withResolvers`. */
function deferred<Value>() {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
