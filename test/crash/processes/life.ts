/** One life of some runs, each in a folder of its own: plays them to their ends, unless something comes between. */
import { PawlError } from '../../../src/core/errors.ts';
import { sqliteStore } from '../../../src/stores/sqlite.ts';
import { putClockOn } from '../clock.ts';
import { live } from '../live.ts';
import type { BudgetName } from '../scenario.ts';
import { watchedStore } from '../watched-store.ts';
import type { World } from '../world.ts';
import { type Fate, fileWorld, storeIn, tellParent } from '../world-file.ts';

export interface LifeOrder {
  /** Names this life in its notes. */
  readonly by: string;
  /** The log of the first one is file descriptor 3, of the second one 4, and so on. */
  readonly folders: readonly string[];
  readonly budget: BudgetName;
  readonly fate: Fate | null;
  /** How much later than it is this process takes it to be. */
  readonly clockAheadMs: number;
  /** Another process may be at work on these runs still. */
  readonly hasOthers: boolean;
}

const order = JSON.parse(process.argv[2] ?? '') as LifeOrder;

async function liveIn(folder: string, index: number): Promise<void> {
  const { by, fate, hasOthers, budget } = order;
  const world = fileWorld({ folder, log: 3 + index, by, fate, hasOthers });
  const store = watchedStore(sqliteStore(storeIn(folder)), world);
  await unlessTrouble(world, () => live(store, world, budget));
  await unlessTrouble(world, () => store.close());
  world.end();
}

/** A store that can't be used is something to tell, not something to break of. */
async function unlessTrouble(world: World, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!PawlError.is(error) || error.code !== 'store_failed') throw error;
    world.note({ what: 'trouble', code: error.code, message: error.message });
  }
}

putClockOn(order.clockAheadMs);
// Waiting for a person is no work for the event loop, but the process has to be there when it is done.
const stay = setInterval(() => {}, 60_000);
tellParent('begun');
await Promise.all(order.folders.map(liveIn));
clearInterval(stay);
