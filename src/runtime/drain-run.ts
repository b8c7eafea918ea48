import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../stores/store.ts';
import type { Run } from './run.ts';

/**
 * Lets what runs come to its end, up to a point; then the run is suspended, and goes on when it is resumed. The pause is
 * only for the end of this process, however that comes: so it is taken back before it is wished for, for the next one.
 */
export async function drainRun(
  run: Run,
  graceMs: number,
  store: Store,
  owner: string,
): Promise<void> {
  const { isPauseWanted } = run.snapshot().context;
  if (!isPauseWanted) await store.post(run.id, { type: 'run.resumed', notFor: owner });
  try {
    run.pause();
  } catch {
    // It ended just now.
  }
  const over = new AbortController();
  await Promise.race([run.idle(), sleep(graceMs, undefined, { signal: over.signal })]);
  over.abort();
  await run.suspend();
}
