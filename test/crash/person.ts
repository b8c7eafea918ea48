/** The person who answers a run: knows of earlier lives only what was acknowledged, and what the world shows. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { PawlError } from '../../src/core/errors.ts';
import type { RunContext } from '../../src/core/run-context.ts';
import type { RunEvent } from '../../src/core/run-event.ts';
import { remoteRun } from '../../src/runtime/remote-run.ts';
import type { Run } from '../../src/runtime/run.ts';
import type { Store } from '../../src/stores/store.ts';
import { outputOf, runId, steering } from './scenario.ts';
import { notesOf, type World } from './world.ts';

/** Answers whatever is asked until the run ends. */
export async function answerAll(run: Run, store: Store, world: World): Promise<void> {
  for await (const event of run.events) await answer(event, run, store, world);
}

async function answer(event: RunEvent, run: Run, store: Store, world: World): Promise<void> {
  if (event.type !== 'approval.wanted' && event.type !== 'settlement.wanted') return;
  const { callId } = event;
  if (!run.pending.some((call) => call.callId === callId)) return;
  try {
    if (event.type === 'settlement.wanted') await settle(callId, run, world);
    else if (callId.startsWith('send')) await approveFromElsewhere(callId, run, store, world);
    else await approve(callId, run, world);
  } catch (error) {
    // The run went on, or could not go on any more; its end tells which.
    if (!PawlError.is(error) || !harmless.includes(error.code)) throw error;
    if (error.code === 'store_failed') await leave(run, error, world);
  }
}

const harmless = ['not_awaiting', 'run_finished', 'stale_snapshot', 'run_locked', 'store_failed'];

/** Nobody can say anything to the run while its store is in trouble. It waits, and is gone on with later. */
async function leave(run: Run, { code, message }: PawlError, world: World): Promise<void> {
  world.note({ what: 'trouble', code, message });
  await run.suspend().catch(() => {});
}

async function approve(callId: string, run: Run, world: World): Promise<void> {
  if (isNoted(world, 'approved', callId)) world.note({ what: 'asked again', callId });
  await run.approve(callId);
  world.note({ what: 'approved', callId });
}

/** By the store, as another terminal does. What was left there is not said twice: the run has to hear it. */
async function approveFromElsewhere(
  callId: string,
  run: Run,
  store: Store,
  world: World,
): Promise<void> {
  const remote = remoteRun(heardUntilLate(store, world), runId);
  if (!(await untilStored(callId, run, store))) return;
  if (!(await isSteered(run, store))) {
    await remote.steer(steering);
    world.note({ what: 'steered' });
  }
  if (isNoted(world, 'posted approval', callId)) return;
  await remote.approve(callId);
  world.note({ what: 'posted approval', callId });
}

/** People elsewhere speak to whoever has the run, which is not this process any more once it has been away for long. */
const heardUntilLate = (store: Store, world: World): Store => ({
  ...store,
  async post(id, event) {
    if (world.isLate()) throw new PawlError('run_locked', `Run "${id}" is in other hands.`);
    await store.post(id, event);
  },
});

/** Whoever is elsewhere knows of the question only by the store. False: the run was stopped before it got there. */
async function untilStored(callId: string, run: Run, store: Store): Promise<boolean> {
  while (run.pending.some((call) => call.callId === callId)) {
    const saved = await store.load(runId);
    if (saved?.head.waits.some((wait) => wait.callId === callId)) return true;
    await nextTurn();
  }
  return false;
}

/** Looks at what is left first: it is taken from there only when the run has it. */
async function isSteered(run: Run, store: Store): Promise<boolean> {
  const left = JSON.stringify(await store.posted([runId]));
  const { steered } = run.snapshot().context as unknown as RunContext;
  return left.includes(steering) || JSON.stringify(steered).includes(steering);
}

/** What the call did is known to the world; what did not happen may happen now, unless it may be under way. */
async function settle(callId: string, run: Run, world: World): Promise<void> {
  if (isNoted(world, 'settled', callId)) world.note({ what: 'asked again', callId });
  if (world.hasOthers || isNoted(world, 'tool acted', callId)) {
    await run.settle(callId, { content: outputOf(callId) });
    world.note({ what: 'settled', callId });
  } else {
    await run.retry(callId);
    world.note({ what: 'retried', callId });
  }
}

const isNoted = (
  world: World,
  what: 'approved' | 'posted approval' | 'settled' | 'tool acted',
  callId: string,
): boolean => notesOf(world.notes(), what).some((note) => note.callId === callId);
