/** A folder for stores of a test, and a store with something of everything in it. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { ToolResult } from '../../src/core/message.ts';
import type { Store } from '../../src/stores/store.ts';
import { says, stepsOf } from '../../src/testing/store-steps.ts';

/** Gives a new path each time. The folder is removed after the tests of the file. */
export function pathMaker(): () => string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-store-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let made = 0;
  return () => {
    made += 1;
    return join(folder, `${made}.db`);
  };
}

export const hashOf = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex');

export const runIds = ['one', 'two', 'three', 'four', 'fork', 'fork of fork'];

const result = (id: string): ToolResult => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'r'.repeat(500),
});

/** Runs with several turns, an open batch and a compaction each, forks of them, posted events. */
export async function fillStore(store: Store): Promise<void> {
  for (const id of runIds.slice(0, 4)) {
    const run = stepsOf(id);
    for (const turn of [1, 2, 3]) {
      await store.save([run.turn(turn, says(`${id} ${turn} ${'m'.repeat(700)}`, 'short'))]);
    }
    await store.save([run.next({ generation: 1, messages: says(`summary of ${id}`) })]);
    await store.save([run.turn(4, says(`${id} 4 ${'m'.repeat(700)}`))]);
    await store.save([run.next({ results: [result(`${id} a`), result(`${id} b`)] })]);
    await store.post(id, { type: 'hello', text: `hello ${id}` });
  }
  const fork = stepsOf('fork', { base: { runId: 'one', generation: 0, length: 4 } });
  await store.save([fork.turn(3, says('other'))]);
  const again = stepsOf('fork of fork', { base: { runId: 'fork', generation: 0, length: 5 } });
  await store.save([again.turn(4, says('yet another'))]);
}
