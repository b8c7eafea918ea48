/** The people of a scenario: they approve, deny, edit, are late, raise limits, or leave a run waiting. */
import { PawlError, type PendingCall, type Run } from 'pawl';
import type { Decision } from './scenario.ts';
import { isResumed, see, tick, type World } from './world.ts';

/** What people have been asked in one life of a run. */
export interface Desk {
  readonly asked: Map<string, { readonly what: Decision; turnsLeft: number; isAnswered: boolean }>;
  idleTurns: number;
  hangingTurns: number;
}

export const openDesk = (): Desk => ({ asked: new Map(), idleTurns: 0, hangingTurns: 0 });

/** Looks at each call that waits, and answers it when its time has come. */
export function answerPending(world: World, run: Run, desk: Desk): void {
  for (const call of run.pending) {
    const key =
      call.waits.for === 'approval' ? `${call.callId} ${call.waits.argumentsHash}` : call.callId;
    const asked = desk.asked.get(key) ?? newQuestion(world);
    desk.asked.set(key, asked);
    asked.turnsLeft -= 1;
    if (asked.isAnswered || asked.turnsLeft >= 0 || asked.what === 'never') continue;
    asked.isAnswered = true;
    if (call.waits.for === 'approval')
      decide(world, run, call, asked.what, call.waits.argumentsHash);
    else settle(world, run, call, asked.what);
  }
}

function newQuestion(world: World) {
  const { decisions } = world.scenario;
  const number = world.seen.get('question') ?? 0;
  see(world, 'question');
  const next = decisions[number % Math.max(1, decisions.length)];
  return { what: next?.what ?? 'grant', turnsLeft: next?.afterTicks ?? 0, isAnswered: false };
}

function decide(world: World, run: Run, call: PendingCall, what: Decision, hash: string): void {
  see(world, `approval ${what}`);
  const { callId } = call;
  const acts: Readonly<Record<Decision, () => void>> = {
    grant: () => grant(world, run, call, null),
    deny: () => deny(world, run, call),
    edit: () => grant(world, run, call, { n: 7 }),
    wrongHash: () => {
      const argumentsHash = hash.replace(/./g, (digit) => (digit === '0' ? '1' : '0'));
      expectRefusal(world, 'a wrong hash', run.approve(callId, { argumentsHash }));
      grant(world, run, call, null);
    },
    wrongEdit: () => {
      const input = { n: 'seven' };
      expectRefusal(world, 'a wrong edit', run.approve(callId, { input }), () =>
        deny(world, run, call),
      );
    },
    twice: () => {
      grant(world, run, call, null);
      expectRefusal(world, 'a second approval', run.approve(callId));
    },
    never: () => {},
  };
  acts[what]();
}

function grant(world: World, run: Run, { callId }: PendingCall, input: { n: number } | null): void {
  const description = world.scenario.changesTools && isResumed(world) ? 2 : 1;
  const yes = {
    callId,
    input: input && JSON.stringify(input),
    description,
    at: tick(world),
    isRefused: false,
  };
  world.grants.push(yes);
  orTooLate(world, run.approve(callId, input ? { input } : {}), () => {
    yes.isRefused = true;
  });
}

function deny(world: World, run: Run, { callId }: PendingCall): void {
  world.denied.add(callId);
  orTooLate(world, run.deny(callId, 'Not today.'), () => world.denied.delete(callId));
}

function settle(world: World, run: Run, { callId }: PendingCall, what: Decision): void {
  if (what === 'grant' || what === 'edit') {
    see(world, 'interrupted call retried');
    world.personRetries.set(callId, (world.personRetries.get(callId) ?? 0) + 1);
    orTooLate(world, run.retry(callId), () => {});
    return;
  }
  see(world, 'interrupted call settled');
  orTooLate(world, run.settle(callId, { content: 'It was sent.' }), () => {});
}

const lateCodes: ReadonlySet<unknown> = new Set([
  'run_finished',
  'not_awaiting',
  'unknown_tool_use',
]);

/** A decision may come after the run has gone on: it is refused, and nothing else. */
function orTooLate(world: World, decision: Promise<void>, undo: () => void): void {
  decision.catch((error: unknown) => {
    undo();
    if (PawlError.is(error) && lateCodes.has(error.code)) see(world, 'decision too late');
    else world.problems.push(`people: a decision failed with ${String(error)}`);
  });
}

function expectRefusal(
  world: World,
  what: string,
  decision: Promise<void>,
  goOn: () => void = () => {},
): void {
  decision.then(
    () => world.problems.push(`people: ${what} was taken`),
    () => {
      see(world, `${what} refused`);
      goOn();
    },
  );
}

/** Someone looks at a run that waits: resumes it, raises its limit, or gives up on it. */
export function answerWait(world: World, run: Run, desk: Desk): void {
  const { state } = run;
  const isWaiting =
    state === 'paused' ||
    state === 'awaitBudget' ||
    (state === 'executeTools.waiting' && !isAnyoneComing(desk, run));
  desk.idleTurns = isWaiting ? desk.idleTurns + 1 : 0;
  if (desk.idleTurns < 3) return;
  desk.idleTurns = 0;
  if (state === 'paused') {
    see(world, 'pause resumed');
    run.resume();
  } else if (state === 'awaitBudget' && mayRaise(world)) {
    see(world, 'budget raised on request');
    raiseAll(world, run);
  } else {
    see(world, `left waiting in ${state}`);
    run.cancel('Nobody came.');
  }
}

const isAnyoneComing = ({ asked }: Desk, { pending }: Run): boolean =>
  pending.some(({ callId, waits }) => {
    const key = waits.for === 'approval' ? `${callId} ${waits.argumentsHash}` : callId;
    return asked.get(key)?.what !== 'never';
  });

const mayRaise = ({ seen, scenario }: World): boolean =>
  (seen.get('budget raised on request') ?? 0) < scenario.raises;

/** Limits only go up here: what was within the old ones is within the new. */
function raiseAll(world: World, run: Run): void {
  const { maxTurns = 50, maxToolCalls, maxRepeats = 3, maxMalformedReplies = 3 } = world.limits;
  const raised = {
    ...world.limits,
    ...twice(world, 'maxInputTokens', 3_000),
    ...twice(world, 'maxOutputTokens', 100),
    ...twice(world, 'maxTotalTokens', 3_000),
    ...twice(world, 'maxCostUsd', 0.005),
    ...twice(world, 'maxActiveMs', 50),
    ...(world.limits.deadlineAt !== undefined && { deadlineAt: Date.now() + 40 }),
    maxTurns: maxTurns + 2,
    maxRepeats: maxRepeats + 1,
    maxMalformedReplies: maxMalformedReplies + 1,
    ...(maxToolCalls !== undefined && { maxToolCalls: maxToolCalls + 1 }),
  };
  world.limits = raised;
  run.raiseBudget(raised);
}

export function raiseSome(world: World, run: Run): void {
  const { maxTurns = 50 } = world.limits;
  const raised = { ...twice(world, 'maxCostUsd', 0.001), maxTurns: maxTurns + 1 };
  world.limits = { ...world.limits, ...raised };
  run.raiseBudget(raised);
}

function twice(
  { limits }: World,
  name: 'maxInputTokens' | 'maxOutputTokens' | 'maxTotalTokens' | 'maxCostUsd' | 'maxActiveMs',
  more: number,
): object {
  const max = limits[name];
  return max === undefined ? {} : { [name]: max * 2 + more };
}
