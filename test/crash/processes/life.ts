/** One life of some runs, each in a folder of its own: plays them to their ends, or dies at a point of one. */
import { sqliteStore } from '../../../src/stores/sqlite.ts';
import { live } from '../live.ts';
import type { BudgetName } from '../scenario.ts';
import { watchedStore } from '../watched-store.ts';
import type { Point } from '../world.ts';
import { fileWorld, storeIn } from '../world-file.ts';

export interface LifeOrder {
  readonly folders: readonly string[];
  readonly dieAt: Point | null;
  readonly budget: BudgetName;
}

const { folders, dieAt, budget } = JSON.parse(process.argv[2] ?? '') as LifeOrder;

async function liveIn(folder: string): Promise<void> {
  const world = fileWorld(folder, dieAt);
  const store = watchedStore(sqliteStore(storeIn(folder)), world);
  await live(store, world, budget);
  await store.close();
  world.end();
}

// Waiting for a person is no work for the event loop, but the process has to be there when it is done.
const stay = setInterval(() => {}, 60_000);
await Promise.all(folders.map(liveIn));
clearInterval(stay);
