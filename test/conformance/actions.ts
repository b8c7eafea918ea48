/** What people do in a case, through Pawl's public API. */
import { type ContentBlock, type Message, PawlError, type Run } from 'pawl';
import { agentFor } from './agent-from-case.ts';
import type { Action } from './load-case.ts';
import { toCaseCode, toMessage } from './mapping.ts';
import { observe } from './observe.ts';
import { mutateSnapshot, readSnapshot } from './snapshots.ts';
import { pendingOf, type Stage, track } from './stage.ts';
import { overrideTools, pickTools } from './tools-from-case.ts';
import { settled, waitFor } from './waits.ts';

type Act = (stage: Stage, action: Action, signal: AbortSignal) => Promise<void> | void;

/** Does one action. A typed refusal is noted; it is a failure unless the case reckons with it. */
export async function perform(stage: Stage, action: Action, signal: AbortSignal): Promise<void> {
  const act = Object.hasOwn(acts, action.do) ? acts[action.do] : undefined;
  if (!act) throw new Error(`unknown action ${JSON.stringify(action.do)}`);
  try {
    await act(stage, action, signal);
  } catch (error) {
    if (!PawlError.is(error)) throw error;
    noteRefusal(stage, action, { code: toCaseCode(error.code), message: error.message });
  }
}

const opening = new Set(['start', 'send', 'resume']);
const steering = new Set(['steer', 'notify']);

function noteRefusal(
  stage: Stage,
  { do: name, mayFail = false }: Action,
  refusal: { readonly code: string; readonly message: string },
): void {
  stage.actionErrors.push({ do: name, code: refusal.code });
  stage.said.push(refusal.message);
  if (opening.has(name)) Object.assign(stage, { refusal, current: null });
  if (steering.has(name)) stage.isSteerRejected = true;
  const looksAt = JSON.stringify(stage.kase.expect);
  const isExpected =
    mayFail ||
    looksAt.includes('"actionErrors"') ||
    (opening.has(name) && looksAt.includes('"rejected"')) ||
    (steering.has(name) && looksAt.includes('"steerRejected"'));
  if (!isExpected) stage.failures.push(`${name} was refused: ${refusal.code}: ${refusal.message}`);
}

const acts: Readonly<Record<string, Act>> = {
  start: (stage, { prompt = '' }) => begin(stage, prompt, historyOf(stage)),
  send,
  steer: (stage, { text = '' }) => currentRun(stage).steer(text),
  notify,
  approve,
  deny,
  abort: (stage, { reason }) => currentRun(stage).cancel(reason),
  snapshot(stage, { as = '' }) {
    stage.snapshots.set(as, JSON.stringify(currentRun(stage).snapshot()));
  },
  kill,
  resume,
  assert(stage, { as = '' }) {
    stage.checkpoints[as] = observe(stage);
  },
  async wait(stage, { for: what = '' }, signal) {
    const problem = await waitFor(stage, what, signal);
    if (problem) stage.failures.push(`waited for ${what}, but ${problem}`);
  },
};

function begin(
  stage: Stage,
  prompt: string | readonly ContentBlock[],
  history: readonly Message[],
): void {
  stage.refusal = null;
  const run = agentFor(stage).start(withNotices(stage, prompt), { history, signal: stage.signal });
  stage.current = track(stage, run, { isChild: false });
}

/** Notices that came while no run was there to hear them. */
function withNotices(stage: Stage, prompt: string | readonly ContentBlock[]) {
  const notices = stage.notices.splice(0).map((text) => ({ type: 'text' as const, text }));
  if (notices.length === 0) return prompt;
  const said = typeof prompt === 'string' ? [{ type: 'text' as const, text: prompt }] : prompt;
  return [...said, ...notices];
}

const historyOf = ({ kase, current }: Stage): readonly Message[] =>
  current?.ended?.messages ?? (kase.script.history ?? []).map(toMessage);

/** The next message of the user. Whoever writes one instead of deciding on a call does not want that call. */
async function send(
  stage: Stage,
  { text = '', config, orStart }: Action,
  signal: AbortSignal,
): Promise<void> {
  if (!stage.current && !orStart) throw new Error('send: there is no conversation yet');
  await settled(stage, signal);
  if (stage.current?.ended === null) {
    stage.current.run.cancel('The user went on without it.');
    await settled(stage, signal);
  }
  stage.config = { ...stage.config, ...config };
  begin(stage, text, historyOf(stage));
}

function notify(stage: Stage, { text = '' }: Action): void {
  if (stage.current?.ended === null) stage.current.run.steer(text);
  else stage.notices.push(text);
}

async function approve(stage: Stage, { id = '', input }: Action): Promise<void> {
  const call = pendingOf(stage).find((pending) => pending.id === id);
  if (!call) return currentRun(stage).approve(id);
  if (call.waits.for === 'settlement') return call.run.retry(call.callId);
  return call.run.approve(call.callId, input === undefined ? {} : { input });
}

async function deny(stage: Stage, { id = '', reason }: Action): Promise<void> {
  const call = pendingOf(stage).find((pending) => pending.id === id);
  if (!call) return currentRun(stage).deny(id, reason);
  if (call.waits.for === 'approval') return call.run.deny(call.callId, reason);
  return call.run.settle(call.callId, { content: reason ?? '', isError: true });
}

/** The process of the run is gone: nothing of it moves any more, and nobody hears of it. */
async function kill(stage: Stage): Promise<void> {
  await currentRun(stage).suspend();
  stage.current = null;
}

async function resume(stage: Stage, action: Action, signal: AbortSignal): Promise<void> {
  const { from, tools, toolOverrides, mutate, retryFailed = false } = action;
  if (tools) stage.tools = pickTools(stage.kase.script.tools ?? [], tools);
  stage.tools = overrideTools(stage.tools, toolOverrides);
  if (from !== undefined) {
    const stored = stage.snapshots.get(from);
    if (stored === undefined) throw new Error(`resume: there is no snapshot "${from}"`);
    stage.refusal = null;
    const snapshot = readSnapshot(mutateSnapshot(stored, mutate));
    const run = await agentFor(stage).resume(snapshot, { signal: stage.signal });
    stage.current = track(stage, run, { isChild: false });
  }
  if (retryFailed) await retryLastTurn(stage, signal);
  for (const next of action.then ?? []) await perform(stage, next, signal);
}

/** Asks again what failed. Where results came last, only a new word of the user can go on from them. */
async function retryLastTurn(stage: Stage, signal: AbortSignal): Promise<void> {
  await settled(stage, signal);
  const messages = historyOf(stage);
  const last = messages.at(-1);
  if (last?.role !== 'user') throw new Error('resume: there is nothing to retry');
  const hasResults = last.content.some(({ type }) => type === 'tool_result');
  if (hasResults) begin(stage, 'Please go on.', messages);
  else begin(stage, last.content, messages.slice(0, -1));
}

function currentRun({ current, refusal }: Stage): Run {
  if (current) return current.run;
  throw new Error(`there is no run${refusal ? `: ${refusal.message}` : ''}`);
}
