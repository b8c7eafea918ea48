/** What people do in a case, through Pawl's public API. */
import { PawlError } from 'pawl';
import type { Host } from './host.ts';
import type { Action } from './load-case.ts';
import { toMessage } from './mapping.ts';
import { observe } from './observe.ts';
import { noteRefusal } from './refusals.ts';
import { resume } from './resume.ts';
import { endHost, hostOf, type Seat, type Stage } from './stage.ts';
import { waitFor } from './waits.ts';

type Act = (stage: Stage, seat: Seat, action: Action, signal: AbortSignal) => Promise<unknown>;

/** Does one action. A typed refusal is noted; it is a failure unless the case reckons with it. */
export async function perform(
  stage: Stage,
  seat: Seat,
  action: Action,
  signal: AbortSignal,
): Promise<void> {
  const act = Object.hasOwn(acts, action.do) ? acts[action.do] : undefined;
  if (!act) throw new Error(`unknown action ${JSON.stringify(action.do)}`);
  try {
    await act(stage, seat, action, signal);
  } catch (error) {
    if (!PawlError.is(error)) throw error;
    noteRefusal(stage, seat, action, error);
  }
}

const acts: Readonly<Record<string, Act>> = {
  async start(stage, seat, { prompt = '' }, signal) {
    seat.refusal = null;
    const order = { prompt, history: historyOf(stage), notices: stage.notices.splice(0) };
    stage.runId = (await (await hostOf(stage, seat)).ask('start', order, signal)).runId;
  },
  async send(stage, seat, { text: prompt = '', config = {}, orStart = false }, signal) {
    const host = await hostOf(stage, seat);
    const words = { prompt, history: historyOf(stage), notices: stage.notices.splice(0) };
    stage.config = { ...stage.config, ...config };
    stage.runId = (await host.ask('send', { ...words, config, orStart }, signal)).runId;
    seat.refusal = null;
  },
  steer: async (stage, seat, { text = '' }, signal) =>
    (await runHost(stage, seat)).ask('steer', { text }, signal),
  async notify(stage, seat, { text = '' }, signal) {
    const host = await hostOf(stage, seat);
    if (!(await host.ask('notify', { text }, signal)).isHeard) stage.notices.push(text);
  },
  approve: async (stage, seat, { id = '', input }, signal) =>
    (await runHost(stage, seat)).ask(
      'approve',
      { id, ...(input !== undefined && { input }) },
      signal,
    ),
  deny: async (stage, seat, { id = '', reason }, signal) =>
    (await runHost(stage, seat)).ask('deny', { id, reason }, signal),
  abort: async (stage, seat, { reason }, signal) =>
    (await runHost(stage, seat)).ask('abort', { reason }, signal),
  async snapshot(stage, seat, { as = '' }, signal) {
    const host = await runHost(stage, seat);
    stage.snapshots.set(as, await host.ask('snapshot', null, signal));
  },
  kill,
  resume: (stage, seat, action, signal) => resume(stage, seat, action, signal, perform),
  async assert(stage, seat, { as = '' }, signal) {
    stage.checkpoints[as] = await observe(stage, seat, signal);
  },
  async wait(stage, seat, { for: what = '' }, signal) {
    const problem = await waitFor(stage, seat, what, signal);
    if (problem) stage.failures.push(`waited for ${what}, but ${problem}`);
  },
};

const historyOf = ({ kase }: Stage) => (kase.script.history ?? []).map(toMessage);

/** A worker kills itself; the user kills all that there is. Nothing of it moves any more. */
async function kill(stage: Stage, seat: Seat): Promise<void> {
  const hosts = seat.isWorker ? [seat.host].filter((host) => host !== null) : [...stage.hosts];
  await Promise.all(hosts.map((host) => endHost(stage, host)));
  stage.killCount += hosts.length;
  seat.host = null;
}

/** The process to speak to about the run: nobody can say anything about one that was refused. */
async function runHost(stage: Stage, seat: Seat): Promise<Host> {
  if (seat.refusal) throw seat.refusal;
  return hostOf(stage, seat);
}
