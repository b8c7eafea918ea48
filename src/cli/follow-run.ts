import type { LimitReached } from '../core/budget.ts';
import { isOnlyWaiting } from '../core/call-steps.ts';
import type { RunContext } from '../core/run-context.ts';
import type { RunEvent } from '../core/run-event.ts';
import { pendingCalls } from '../runtime/decisions.ts';
import type { PendingCall, Run } from '../runtime/run.ts';
import type { RunResult } from '../runtime/run-result.ts';
import type { Tool } from '../tools/tool.ts';
import { type Asked, askApproval, askBudget, type Person } from './ask.ts';
import { exitCodeOf, type LeftWaiting } from './exit-code.ts';
import type { RunEnd, Screen } from './screen.ts';
import { countOf } from './show-run.ts';
import { untilElsewhere } from './until-elsewhere.ts';

export interface Follow {
  readonly run: Run;
  readonly screen: Screen;
  readonly tools: readonly Tool[];
  /** Null: nobody can be asked, so a run that waits is left waiting. */
  readonly person: Person | null;
  /** Every call may run, also one that waited already when the run was taken up. */
  readonly allowsAll: boolean;
  /** A call of the run was denied before, in another process perhaps. */
  readonly hadDenial: boolean;
  /** Aborted once the process has to end: the agent then pauses and suspends the run. */
  readonly draining: AbortSignal;
}

/** What a run was left with. */
interface Left {
  readonly waits: LeftWaiting | null;
  readonly pending: readonly PendingCall[];
}

/**
 * Shows a run from its start to its end. Questions are asked between two events, so that what other calls do
 * meanwhile is shown after the answer. A run that nobody decides about is suspended, not cancelled.
 */
export async function followRun(follow: Follow): Promise<RunEnd> {
  const { run, screen } = follow;
  let hasDenial = follow.hadDenial;
  let left: Left | null = null;
  for await (const event of run.events) {
    screen.show(event);
    hasDenial ||= event.type === 'tool.settled' && event.ending === 'denied';
    const wait = waitOf(event, follow);
    if (wait === null || (await decide(wait, follow)) === 'decided') continue;
    left = { waits: wait, pending: run.pending };
    await run.suspend();
  }
  const result = await run.result;
  const { waits, pending } = result.status === 'suspended' ? (left ?? leftBy(run)) : nothingLeft;
  const errorCode = result.error?.code ?? null;
  const end: RunEnd = {
    code: exitCodeOf({ status: result.status, errorCode, waits, hasDenial }),
    result,
    reason: reasonOf(result, waits, pending.length, hasDenial),
    waits,
    pending,
  };
  screen.end(end);
  return end;
}

const nothingLeft: Left = { waits: null, pending: [] };

/** The process had to end. A run that only waited for people is left waiting; another one was at work. */
function leftBy(run: Run): Left {
  const context = run.snapshot().context as unknown as RunContext;
  const pending = pendingCalls(context);
  if (run.state === 'awaitBudget') return { waits: 'budget', pending };
  return isOnlyWaiting(context) ? { waits: kindOf(pending), pending } : nothingLeft;
}

function waitOf(event: RunEvent, { run, draining }: Follow): LeftWaiting | null {
  if (event.type !== 'state.entered' || event.state !== run.state) return null;
  if (event.state === 'awaitBudget') return 'budget';
  if (event.state === 'paused') return draining.aborted ? null : 'resume';
  if (event.state !== 'executeTools.waiting' || run.pending.length === 0) return null;
  return kindOf(run.pending);
}

const kindOf = (pending: readonly PendingCall[]): LeftWaiting =>
  pending.some(({ waits }) => waits.for === 'settlement') ? 'settlement' : 'approval';

async function decide(wait: LeftWaiting, follow: Follow): Promise<Asked> {
  const { run, person, allowsAll } = follow;
  if (wait === 'approval' && allowsAll) return approveAll(run);
  if (person === null || wait === 'settlement' || wait === 'resume') return leave(person);
  return wait === 'budget' ? decideBudget(run, person) : decideCalls(run, person, follow);
}

async function approveAll(run: Run): Promise<Asked> {
  for (const { callId, waits } of run.pending) {
    if (waits.for === 'approval') await run.approve(callId, { argumentsHash: waits.argumentsHash });
  }
  return 'decided';
}

async function decideBudget(run: Run, person: Person): Promise<Asked> {
  const limit = limitOf(run);
  if (limit === null) return 'left';
  const isOpen = (): boolean => run.state === 'awaitBudget';
  return untilElsewhere(run, isOpen, person, (own) => askBudget(run, limit, own));
}

async function decideCalls(run: Run, person: Person, { tools }: Follow): Promise<Asked> {
  for (const call of run.pending) {
    const tool = tools.find(({ name }) => name === call.name);
    const isOpen = (): boolean => run.pending.some(({ callId }) => callId === call.callId);
    const ask = (own: Person): Promise<Asked> => askApproval(run, call, tool, own);
    if ((await untilElsewhere(run, isOpen, person, ask)) === 'left') return leave(person);
  }
  return 'decided';
}

/** A run that is cancelled or drained comes to its end by itself. */
const leave = (person: Person | null): Asked => (person?.signal.aborted ? 'decided' : 'left');

const limitOf = (run: Run): LimitReached | null =>
  (run.snapshot().context as { readonly limit?: LimitReached | null }).limit ?? null;

function reasonOf(
  result: RunResult,
  waits: LeftWaiting | null,
  calls: number,
  hasDenial: boolean,
): string {
  if (result.status === 'completed' && hasDenial) {
    return 'The model gave its answer, but a call it wanted was denied.';
  }
  if (result.status !== 'suspended') return result.reason;
  switch (waits) {
    case null:
      return 'The run was stopped at work. It is saved and can go on.';
    case 'budget':
      return 'The run waits for a higher limit.';
    case 'resume':
      return 'The run is paused.';
    default:
      return waitingReason(waits, calls);
  }
}

function waitingReason(waits: 'approval' | 'settlement', calls: number): string {
  const [verb, subject] = calls === 1 ? ['waits', 'it'] : ['wait', 'they'];
  const wanted = waits === 'approval' ? 'decide' : `say what ${subject} came to`;
  return `${countOf(calls, 'call')} ${verb} for a person to ${wanted}.`;
}
