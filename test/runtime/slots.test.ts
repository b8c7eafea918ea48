import { describe, expect, it } from 'vitest';
import { createSlots } from '../../src/runtime/slots.ts';

const never = new AbortController().signal;

/** Which of the calls have begun, after all that can begin has. */
async function begun(calls: readonly (readonly [string, Promise<void>])[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [id, call] of calls) void call.then(() => ids.push(id));
  await new Promise(setImmediate);
  return ids;
}

describe('createSlots', () => {
  it('lets as many calls begin as the run allows, in the order of asking', async () => {
    const slots = createSlots(2);
    const ask = (id: string) => [id, slots.acquire(id, 't', 9, never)] as const;
    const calls = [ask('a'), ask('b'), ask('c'), ask('d')];
    expect(await begun(calls)).toEqual(['a', 'b']);
    slots.release('a');
    expect(await begun(calls)).toEqual(['a', 'b', 'c']);
  });

  it('lets a call of another tool pass one whose tool is busy', async () => {
    const slots = createSlots(9);
    const ask = (id: string, tool: string) => [id, slots.acquire(id, tool, 1, never)] as const;
    const calls = [ask('a', 'slow'), ask('b', 'slow'), ask('c', 'fast')];
    expect(await begun(calls)).toEqual(['a', 'c']);
    slots.release('a');
    expect(await begun(calls)).toEqual(['a', 'b', 'c']);
  });

  it('drops a call that is stopped while it waits, and leaves no listener', async () => {
    const slots = createSlots(1);
    const aborts = new AbortController();
    await slots.acquire('a', 't', 9, never);
    const waiting = slots.acquire('b', 't', 9, aborts.signal);
    const next = slots.acquire('c', 't', 9, never);
    aborts.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    slots.release('a');
    await expect(next).resolves.toBeUndefined();
  });

  it('ignores the release of a call that holds no slot', async () => {
    const slots = createSlots(1);
    await slots.acquire('a', 't', 9, never);
    slots.release('b');
    expect(await begun([['c', slots.acquire('c', 't', 9, never)]])).toEqual([]);
  });
});
