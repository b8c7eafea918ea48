/** Other processes go on with a run: from its store, or from what an app kept of it. */
import { PawlError } from 'pawl';
import type { Action } from './load-case.ts';
import { noteRefusal } from './refusals.ts';
import { endHost, openHost, type Seat, type Stage } from './stage.ts';
import { overrideTools, pickTools } from './tools-from-case.ts';

type Perform = (stage: Stage, seat: Seat, action: Action, signal: AbortSignal) => Promise<void>;

export async function resume(
  stage: Stage,
  seat: Seat,
  action: Action,
  signal: AbortSignal,
  perform: Perform,
): Promise<void> {
  const { workers = 1, then = [] } = action;
  stage.tools = toolsFor(stage, action);
  await stepAside(stage, seat, signal);
  if (workers > 1) return race(stage, action, signal, perform);
  seat.host = await openHost(stage);
  await goOn(stage, seat, action, signal);
  for (const next of then) await perform(stage, seat, next, signal);
}

/** The tools of the next processes. A name that no tool has would change less than the case means. */
function toolsFor({ kase, tools }: Stage, { tools: wanted, toolOverrides }: Action) {
  const known = kase.script.tools ?? [];
  const chosen = wanted ? pickTools(known, wanted) : tools;
  const overrides = Array.isArray(toolOverrides)
    ? toolOverrides.map(({ name }) => name)
    : Object.keys(toolOverrides ?? {});
  const named = (wanted ?? []).filter((tool) => typeof tool === 'string');
  for (const name of [...named, ...overrides]) {
    const isThere = [...known, ...chosen].some((tool) => tool.name === name);
    if (!isThere) throw new Error(`resume: there is no tool ${JSON.stringify(name)}`);
  }
  return overrideTools(chosen, toolOverrides);
}

/** A process that nobody killed ends in good order, if nothing goes on in it. Otherwise it is still there. */
async function stepAside(stage: Stage, seat: Seat, signal: AbortSignal): Promise<void> {
  const { host } = seat;
  seat.host = null;
  if (!host) return;
  const { status } = await host.ask('look', null, signal);
  if (status === 'running' && !seat.refusal) return;
  await host.ask('leave', null, signal);
  await endHost(stage, host);
}

async function goOn(stage: Stage, seat: Seat, action: Action, signal: AbortSignal): Promise<void> {
  const { from, mutate, retryFailed: retry = false } = action;
  const snapshot = from === undefined ? null : stage.snapshots.get(from);
  if (snapshot === undefined) throw new Error(`resume: there is no snapshot "${from}"`);
  seat.refusal = null;
  const answer = await seat.host?.ask('resume', { snapshot, mutate, retry }, signal);
  stage.runId = answer?.runId ?? stage.runId;
}

/**
 * All are ready before the first of them begins, and have been answered before the first of them does more. The user goes
 * on with one that was not refused.
 */
async function race(
  stage: Stage,
  action: Action,
  signal: AbortSignal,
  perform: Perform,
): Promise<void> {
  const { workers = 1, then = [] } = action;
  const hosts = await Promise.all(Array.from({ length: workers }, () => openHost(stage)));
  const seats = hosts.map(
    (host): Seat => ({ host, refusal: null, errors: stage.workerErrors, isWorker: true }),
  );
  await Promise.all(seats.map((seat) => goOnOrNote(stage, seat, action, signal)));
  const winners = seats.filter(({ refusal }) => refusal === null);
  await Promise.all(
    winners.map(async (seat) => {
      for (const next of then) await perform(stage, seat, next, signal);
    }),
  );
  const [seat = seats[0]] = winners;
  if (seat) stage.seat = { ...seat, errors: stage.actionErrors, isWorker: false };
}

async function goOnOrNote(
  stage: Stage,
  seat: Seat,
  action: Action,
  signal: AbortSignal,
): Promise<void> {
  try {
    await goOn(stage, seat, action, signal);
  } catch (error) {
    if (!PawlError.is(error)) throw error;
    noteRefusal(stage, seat, action, error);
  }
}
