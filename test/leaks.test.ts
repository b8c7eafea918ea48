import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { kinds } from './leaks/kinds.ts';
import type { Leftovers } from './leaks/many-runs.ts';

const execute = promisify(execFile);
const project = fileURLToPath(new URL('..', import.meta.url));
const program = fileURLToPath(new URL('leaks/many-runs.ts', import.meta.url));

/** In a process of their own: what a test runner holds would hide what a run leaves behind. */
async function makeManyRuns(): Promise<Leftovers> {
  const flags = ['--expose-gc', '--import', 'tsx'];
  const options = { cwd: project, timeout: 100_000 };
  const { stdout } = await execute(process.execPath, [...flags, program], options);
  return JSON.parse(stdout);
}

describe('a thousand runs in one process', () => {
  let left: Leftovers;
  beforeAll(async () => {
    left = await makeManyRuns();
  }, 110_000);

  it.each(kinds)('end as they were meant to: %s', (kind) => {
    const [status] = kind.split(' ');
    const ends = Object.entries(left.ends).filter(([end]) => end.startsWith(`${kind}:`));
    expect(ends.map(([end]) => end)).toEqual([`${kind}: ${status}`]);
    expect(ends[0]?.[1]).toBeGreaterThanOrEqual(66);
  });

  it('are a thousand, and sixty of them go through the SDK', () => {
    expect(Object.values(left.ends).reduce((sum, count) => sum + count, 0)).toBe(1_000);
    expect(left.overLoopback).toBeGreaterThanOrEqual(60);
  });

  it('leave no rejection unhandled and make the process warn of nothing', () => {
    expect(left.unhandled).toEqual([]);
    expect(left.warnings).toEqual([]);
  });

  it('leave no timer, no socket, nothing else that keeps the process alive', () => {
    expect(left.newResources).toEqual([]);
  });

  it('share one listener on the signal that all of them got, and leave none', () => {
    expect(left.mostListeners).toBe(1);
    expect(left.listenersAfter).toBe(0);
  });

  it('leave no memory: no run and no result is held, and the heap is as it was', () => {
    expect(left.runsAfter).toBe(0);
    expect(left.heapAfter).toBeLessThan(left.heapAfterWarmUp * 1.1);
  });
});
