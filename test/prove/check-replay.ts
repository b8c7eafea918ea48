/** The machine comes to the same again, from what is stored alone. */
import type { Store } from 'pawl';
import { replayRun } from '../../src/runtime/replay.ts';
import { see, type World } from './world.ts';

export async function checkReplay(world: World, store: Store, runId: string): Promise<void> {
  const saved = await store.load(runId);
  if (!saved || saved.head.turn === 0) return;
  const last = await store.loadTurn(runId, saved.head.turn);
  // The run ended before a turn began with its newest transcript.
  if (last?.generation !== saved.generation) return;
  see(world, 'replay');
  const { difference } = await replayRun(store, runId);
  if (difference) world.problems.push(`replay: ${JSON.stringify(difference)}`);
}
