/** What the play can ask of the process in which the runs are: each order has one plain argument and a plain answer. */
import { setImmediate as turn } from 'node:timers/promises';
import { type ContentBlock, type Message, type RunSnapshot, remoteRun, type SavedRun } from 'pawl';
import { snapshotOf } from '../../src/runtime/stored-run.ts';
import { agentFor } from './agent-from-case.ts';
import { type Engine, listenersLeft, liveRuns, type Tracked, track } from './engine.ts';
import { untilAborted, untilTrue } from './happenings.ts';
import type { Action, Config } from './load-case.ts';
import { toCaseCode, toCaseStatus } from './mapping.ts';
import { pendingCalls, pendingHere, storedRun } from './pending.ts';
import { isPolluted } from './process-watch.ts';
import { mutateSnapshot, readSnapshot } from './snapshots.ts';

export interface StartOrder {
  readonly prompt: string;
  /** Notices that came while no run was there to hear them. */
  readonly notices: readonly string[];
  readonly history: readonly Message[];
}

export interface SendOrder extends StartOrder {
  readonly config: Partial<Config>;
  readonly orStart: boolean;
}

export interface ResumeOrder {
  /** What an app kept of the run; null: what the store has. */
  readonly snapshot: string | null;
  readonly mutate?: Action['mutate'] | undefined;
  readonly retry: boolean;
}

type Id = { readonly id: string };
type Text = { readonly text: string };
type Reason = { readonly reason?: string | undefined };

/** What a process knows of its runs. */
export interface Look {
  readonly status: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly text: string;
  readonly pending: readonly string[];
  readonly listenersLeft: number;
  readonly isPolluted: boolean;
}

export const ordersFor = (engine: Engine) => ({
  start: (order: StartOrder) => begin(engine, order),
  send: (order: SendOrder, signal: AbortSignal) => send(engine, order, signal),
  resume: (order: ResumeOrder) => resume(engine, order),
  steer: async ({ text }: Text) => (await speaker(engine)).steer(text),
  notify: (order: Text) => notify(engine, order),
  approve: (order: Id & { readonly input?: never }) => approve(engine, order),
  deny: (order: Id & Reason) => deny(engine, order),
  abort: async ({ reason }: Reason) => (await speaker(engine)).cancel(reason),
  snapshot: () => snapshotNow(engine),
  settled: (_: null, signal: AbortSignal) => settled(engine, signal),
  awaitingApproval: (order: Partial<Id>, signal: AbortSignal) =>
    awaitingApproval(engine, order, signal),
  look: () => look(engine),
  /** Ends in good order: what goes on can be gone on with. */
  leave: () => leave(engine),
  stop: () => stop(engine),
});

export type Orders = ReturnType<typeof ordersFor>;

async function begin(
  engine: Engine,
  { prompt, notices, history }: StartOrder,
): Promise<{ readonly runId: string }> {
  const texts = notices.map((text) => ({ type: 'text' as const, text }));
  const said: string | readonly ContentBlock[] =
    texts.length === 0 ? prompt : [...texts, { type: 'text', text: prompt }];
  const { signal } = engine;
  const earlier = engine.current?.ended?.messages ?? history;
  const run = agentFor(engine).start(said, { history: earlier, signal });
  engine.current = track(engine, run, { isChild: false });
  engine.runId = run.id;
  await durable(engine);
  return { runId: run.id };
}

/** The next message of the user. Whoever writes one instead of deciding on a call does not want that call. */
async function send(engine: Engine, order: SendOrder, signal: AbortSignal) {
  if (await storedRun(engine)) await resume(engine, { snapshot: null, retry: false });
  if (!engine.current && !order.orStart) throw new Error('send: there is no conversation yet');
  await settled(engine, signal);
  if (engine.current?.ended === null) {
    engine.current.run.cancel('The user went on without it.');
    await settled(engine, signal);
  }
  engine.config = { ...engine.config, ...order.config };
  return begin(engine, order);
}

async function resume(
  engine: Engine,
  { snapshot, mutate, retry }: ResumeOrder,
): Promise<{ readonly runId: string }> {
  const kept = snapshot ?? (mutate ? await storedSnapshot(engine) : null);
  if (kept === null && engine.runId === null) throw new Error('resume: there is no run to resume');
  // An app hands on whatever it finds in the place of a snapshot.
  const from = kept === null ? engine.runId : readSnapshot(mutateSnapshot(kept, mutate));
  const run = await agentFor(engine).resume(from as string | RunSnapshot, {
    signal: engine.signal,
    retry,
  });
  engine.current = track(engine, run, { isChild: false });
  engine.runId = run.id;
  return { runId: run.id };
}

async function storedSnapshot(engine: Engine): Promise<string> {
  const saved = await storedRun(engine);
  if (!saved) throw new Error('there is no run in the store');
  return JSON.stringify(snapshotOf(saved));
}

/** The run in this process, else a way to tell it something through its store. */
async function speaker(engine: Engine) {
  if (engine.current) return engine.current.run;
  if (engine.runId !== null) return remoteRun(engine.store, engine.runId);
  throw new Error('there is no run');
}

async function notify(engine: Engine, { text }: { readonly text: string }) {
  const stored = await storedRun(engine);
  const isHeard = stored ? !hasEndedIn(stored) : engine.current?.ended === null;
  if (isHeard) await (await speaker(engine)).steer(text);
  return { isHeard };
}

async function approve(engine: Engine, { id, input }: Id & { readonly input?: never }) {
  const call = (await pendingCalls(engine)).find((pending) => pending.id === id);
  if (!call) return (await speaker(engine)).approve(id);
  if (call.isInterrupted) return call.run.retry(call.callId);
  return call.run.approve(call.callId, input === undefined ? {} : { input });
}

async function deny(engine: Engine, { id, reason }: Id & Reason) {
  const call = (await pendingCalls(engine)).find((pending) => pending.id === id);
  if (!call) return (await speaker(engine)).deny(id, reason);
  if (!call.isInterrupted) return call.run.deny(call.callId, reason);
  return call.run.settle(call.callId, { content: reason ?? '', isError: true });
}

async function snapshotNow(engine: Engine): Promise<string> {
  await durable(engine);
  if (engine.current) return JSON.stringify(engine.current.run.snapshot());
  return storedSnapshot(engine);
}

/** Nothing runs: the run has ended or was refused, or somebody waits for a person. */
async function settled(engine: Engine, signal: AbortSignal): Promise<void> {
  const { current } = engine;
  if (!current) return;
  const look = new AbortController();
  const looking = AbortSignal.any([signal, look.signal]);
  const doesChildWait = (): boolean =>
    liveRuns(engine).some(({ isChild, run }) => isChild && run.pending.length > 0);
  try {
    const waits = untilTrue(doesChildWait, looking);
    await untilAborted(signal, Promise.race([current.run.idle(), waits]));
  } finally {
    look.abort();
  }
  await durable(engine);
}

/** @returns why it can't happen any more, or null. */
async function awaitingApproval(
  engine: Engine,
  { id }: Partial<Id>,
  signal: AbortSignal,
): Promise<string | null> {
  const isAsked = (call: { readonly id: string }): boolean => id === undefined || call.id === id;
  if (!engine.current) return (await pendingCalls(engine)).some(isAsked) ? null : hasEnded;
  const waits = (): boolean => pendingHere(engine).some(isAsked);
  if (id === undefined) await settled(engine, signal);
  else await untilTrue(() => waits() || engine.current?.ended !== null, signal);
  await durable(engine);
  return waits() ? null : hasEnded;
}

const hasEnded = 'the run has ended';

/** Only what is on the disk can be reckoned with once the process is killed: what is reported to have happened is. */
async function durable({ isDurable, store, runId }: Engine): Promise<void> {
  if (!isDurable || runId === null) return;
  // The first round waits for a save that goes on, the second for that of what has changed meanwhile.
  for (let round = 0; round < 2; round += 1) {
    await turn();
    await store.load(runId);
  }
}

const hasEndedIn = ({ head: { status } }: SavedRun): boolean =>
  status !== 'running' && status !== 'waiting';

async function look(engine: Engine): Promise<Look> {
  const stored = await storedRun(engine);
  // To go on with what has ended does nothing, and gives the result.
  if (stored && hasEndedIn(stored)) {
    await resume(engine, { snapshot: null, retry: false });
    await engine.current?.run.result;
  }
  const pending = (await pendingCalls(engine)).map(({ id }) => id);
  const { current } = engine;
  const error = current?.ended?.error;
  return {
    status: statusOf(current, pending),
    error: error ? { code: toCaseCode(error.code), message: error.message } : null,
    text: current?.ended?.text ?? '',
    pending,
    listenersLeft: listenersLeft(engine),
    isPolluted: isPolluted(),
  };
}

function statusOf(current: Tracked | null, pending: readonly string[]): string {
  if (current?.ended) return toCaseStatus(current.ended);
  return pending.length > 0 ? 'awaiting_approval' : 'running';
}

async function leave(engine: Engine): Promise<void> {
  await Promise.all(liveRuns(engine).map(({ run }) => run.suspend()));
  await engine.store.close();
}

async function stop({ runs }: Engine): Promise<void> {
  for (const { run } of runs) run.cancel('The case is over.');
  await Promise.all(runs.map(({ run }) => run.result));
  // Trouble is told after the microtasks of the turn that caused it.
  for (let round = 0; round < 3; round += 1) await turn();
}
