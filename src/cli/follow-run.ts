import type { LimitReached } from '../core/budget.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Run } from '../runtime/run.ts';
import type { RunResult } from '../runtime/run-result.ts';
import type { Tool } from '../tools/tool.ts';
import { type Asked, askApproval, askBudget, type Person } from './ask.ts';
import { exitCodeOf, type LeftWaiting } from './exit-code.ts';
import type { RunEnd, Screen } from './screen.ts';
import { countOf } from './show-run.ts';

export interface Follow {
  readonly run: Run;
  readonly screen: Screen;
  readonly tools: readonly Tool[];
  /** Null: nobody can be asked, so a run that waits is left waiting. */
  readonly person: Person | null;
}

/**
 * Shows a run from its start to its end. Questions are asked between two events, so that what other calls do
 * meanwhile is shown after the answer. A run that nobody decides about is suspended, not cancelled.
 */
export async function followRun(follow: Follow): Promise<RunEnd> {
  const { run, screen } = follow;
  let hasDenial = false;
  let waits: LeftWaiting | null = null;
  let pending: Run['pending'] = [];
  for await (const event of run.events) {
    screen.show(event);
    hasDenial ||= event.type === 'tool.settled' && event.ending === 'denied';
    const wait = waitOf(event, run);
    if (wait === null || (await decide(wait, follow)) === 'decided') continue;
    waits = wait;
    pending = run.pending;
    await run.suspend();
  }
  const result = await run.result;
  const { status, error } = result;
  const code = exitCodeOf({ status, errorCode: error?.code ?? null, waits, hasDenial });
  const isLeft = status === 'suspended';
  const end = {
    code,
    result,
    reason: reasonOf(result, waits, pending.length, hasDenial),
    pending: isLeft ? pending : [],
  };
  screen.end(end);
  return end;
}

function waitOf(event: RunEvent, run: Run): LeftWaiting | null {
  if (event.type !== 'state.entered') return null;
  if (event.state === 'awaitBudget') return run.state === 'awaitBudget' ? 'budget' : null;
  if (event.state !== 'executeTools.waiting' || run.pending.length === 0) return null;
  return run.pending.some(({ waits }) => waits.for === 'settlement') ? 'settlement' : 'approval';
}

async function decide(wait: LeftWaiting, { run, person, tools }: Follow): Promise<Asked> {
  if (person === null || wait === 'settlement') return leave(person);
  if (wait === 'budget') {
    const limit = limitOf(run);
    return limit === null ? 'left' : leaveOr(await askBudget(run, limit, person), person);
  }
  for (const call of run.pending) {
    const tool = tools.find(({ name }) => name === call.name);
    const asked = await askApproval(run, call, tool, person);
    if (asked === 'left') return leave(person);
  }
  return 'decided';
}

const leaveOr = (asked: Asked, person: Person): Asked => (asked === 'left' ? leave(person) : asked);

/** A cancelled run comes to its end by itself. */
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
  if (waits === 'budget') return 'The run waits for a higher limit.';
  const wanted =
    waits === 'settlement' ? 'a person to say what they came to' : 'a person to decide';
  return `${countOf(calls, 'call')} ${calls === 1 ? 'waits' : 'wait'} for ${wanted}.`;
}
