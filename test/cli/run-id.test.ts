import { describe, expect, it } from 'vitest';
import { findRunId, shortId } from '../../src/cli/run-id.ts';
import { createAgent } from '../../src/runtime/agent.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const first = 'run_11111111-2222-4333-8444-555555555555';
const second = 'run_11111111-9999-4333-8444-555555555555';

async function storeOf(...ids: readonly string[]) {
  const store = memoryStore();
  const agent = createAgent({ model: scriptedModel(() => 'Hello.'), store });
  for (const runId of ids) await agent.start('Hi.', { runId }).result;
  return store;
}

describe('the short form of an id', () => {
  it.each([
    [first, '11111111'],
    ['order-42', 'order-42'],
    ['run_mine', 'run_mine'],
  ])('of %s is %s', (id, short) => {
    expect(shortId(id)).toBe(short);
  });
});

describe('a run', () => {
  it.each([
    ['its id', second],
    ['the beginning of its id', 'run_11111111-9'],
    ['the beginning without its prefix', '11111111-9'],
  ])('is found by %s', async (_name, text) => {
    expect(await findRunId(await storeOf(first, second), text)).toBe(second);
  });

  it('is found by its whole id also when that begins another one', async () => {
    expect(await findRunId(await storeOf('order', 'order-2'), 'order')).toBe('order');
  });

  it.each([
    ['by an id that nobody has', '7', 'unknown_run', 'no run "7"'],
    ['by nothing', '', 'unknown_run', 'no run ""'],
    ['by the beginning of two ids', '1111', 'invalid_input', `${second}, ${first}`],
  ])('is not found %s', async (_name, text, code, words) => {
    await expect(findRunId(await storeOf(first, second), text)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    });
  });
});
