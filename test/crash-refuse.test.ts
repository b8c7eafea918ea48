/** A store that can't save any more, at each save of a run: full, broken, or locked. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { sqliteStore } from '../src/stores/sqlite.ts';
import type { Store } from '../src/stores/store.ts';
import { eachOf } from './crash/each-of.ts';
import { live } from './crash/live.ts';
import { problemsAtDeath, problemsAtEnd } from './crash/oracle.ts';
import { readStored } from './crash/stored.ts';
import { watchedStore } from './crash/watched-store.ts';
import { memoryWorld, notesOf, type World } from './crash/world.ts';
import { storeIn } from './crash/world-file.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-refuse-'));
  folders.push(folder);
  return folder;
}

const troubles = ['ENOSPC: no space left on device', 'EIO: i/o error', 'database is locked'];

/** From the n-th save on, none is kept: nothing is written, as `save` promises. */
function refusing(store: Store, from: number, world: World): Store {
  let saves = 0;
  return {
    ...store,
    async save(steps) {
      saves += 1;
      if (saves < from) return store.save(steps);
      world.note({ what: 'refused' });
      throw new Error(troubles[from % troubles.length]);
    },
  };
}

async function playThrough(folder: string, world: World, refusedFrom: number) {
  const store = watchedStore(sqliteStore(storeIn(folder)), world);
  const result = await live(refusing(store, refusedFrom, world), world, 'wide');
  await store.close();
  return result;
}

/** What an effect does first. */
const beginnings = ['model begun', 'tool begun'];

/** Null: the run took fewer saves this time, as several changes may share one. */
async function problemsOfRefusal(
  from: number,
  expected: readonly unknown[],
): Promise<readonly string[] | null> {
  const folder = newFolder();
  const world = memoryWorld();
  const first = await playThrough(folder, world, from);
  const notes = [...world.notes()];
  if (notesOf(notes, 'refused').length === 0) return null;
  const after = notes.slice(notes.findIndex(({ what }) => what === 'refused'));
  const begun = after.filter(({ what }) => beginnings.includes(what));
  const left = problemsAtDeath(notes, await readStored(folder));

  const again = await playThrough(folder, world, Number.POSITIVE_INFINITY);
  const end = problemsAtEnd(world.notes(), await readStored(folder), 'wide', expected);
  return [
    ...(first.status === 'failed' && first.error?.code === 'store_failed'
      ? []
      : [`it ended as ${first.status}: ${first.reason}`]),
    ...begun.map((note) => `after the refusal: ${JSON.stringify(note)}`),
    ...left,
    ...(again.status === 'completed' ? [] : [`resumed, it ended as ${again.status}`]),
    ...end,
  ].map((problem) => `save ${from}: ${problem}`);
}

it('a save that is refused, whichever it is, ends the run before anything else acts, and it can be resumed later', async () => {
  const world = memoryWorld();
  const { status, messages } = await playThrough(newFolder(), world, Number.POSITIVE_INFINITY);
  expect(status).toBe('completed');
  const saves = notesOf(world.notes(), 'saved').length;
  expect(saves).toBeGreaterThanOrEqual(15);

  const each = Array.from({ length: saves }, (_, index) => index + 1);
  const found = await eachOf(each, 6, (from) => problemsOfRefusal(from, messages));
  const refused = found.filter((problems) => problems !== null);
  expect(refused.flat()).toEqual([]);
  expect(refused.length).toBeGreaterThanOrEqual(15);
  console.log(`refused: ${refused.length} saves`);
}, 120_000);
