import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, PawlError, type RunSnapshot, type Store, sqliteStore } from 'pawl';
import { agentLoop, modelCall, toolCall } from 'pawl/machines';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { AnyStateNode } from 'xstate';
import { pawlVersion } from '../../src/core/version.ts';
import { checkSnapshot } from '../../src/runtime/check-snapshot.ts';
import { effectOutputs } from '../../src/runtime/child-shapes.ts';
import { allMoments, chosenMoments } from '../snapshots/moments.ts';
import { newWorld, playOf } from '../snapshots/scenarios.ts';
import { inForeignState } from '../stores/foreign-state.ts';

const moments = chosenMoments(await allMoments());

function snapshotNamed(name: string): RunSnapshot {
  const moment = moments.get(name);
  if (!moment) throw new Error(`There is no moment ${name}.`);
  return structuredClone(moment.snapshot);
}

interface Bag {
  [field: string]: unknown;
}

/** The same snapshot with another value at a path. */
function changed(snapshot: RunSnapshot, path: readonly string[], value: unknown): RunSnapshot {
  const holder = path
    .slice(0, -1)
    .reduce((part, key) => part[key] as Bag, snapshot as unknown as Bag);
  holder[path.at(-1) ?? ''] = value;
  return snapshot;
}

function refusalOf(snapshot: unknown): PawlError {
  try {
    checkSnapshot(snapshot);
  } catch (error) {
    if (PawlError.is(error)) return error;
    throw error;
  }
  throw new Error('It was accepted.');
}

describe('a snapshot', () => {
  it('of every moment of a run is accepted', () => {
    expect(moments.size).toBeGreaterThanOrEqual(50);
    for (const [name, { snapshot, scenario }] of moments) {
      expect(checkSnapshot(snapshot).runId, name).toBe(scenario);
    }
  });

  it('is given back with what machines read of it, and nothing else', () => {
    const snapshot = { ...snapshotNamed('paused'), matches: 1, tags: ['x'] };
    expect(Object.keys(checkSnapshot(snapshot).snapshot).sort()).toEqual([
      'children',
      'context',
      'historyValue',
      'status',
      'value',
    ]);
  });

  it('of an actor that broke is no run to go on with', async () => {
    const snapshot = changed(snapshotNamed('execute-tools.run'), ['status'], 'error');
    const world = newWorld();
    await expect(playOf('approval', world).agent.resume(snapshot)).rejects.toMatchObject({
      code: 'snapshot_incompatible',
    });
    expect(world).toEqual(newWorld());
  });

  it('holds no end of an effect that nobody could check', () => {
    const effectsIn = (node: AnyStateNode): readonly string[] => [
      ...node.invoke.map(({ src }) => String(src)),
      ...Object.values(node.states).flatMap(effectsIn),
    ];
    const effects = [agentLoop, modelCall, toolCall].flatMap(({ root }) => effectsIn(root));
    const machines = ['modelCall', 'toolCall'];
    const unknown = effects.filter((src) => !effectOutputs.has(src) && !machines.includes(src));
    expect(effects.length).toBeGreaterThanOrEqual(9);
    expect(unknown).toEqual([]);
  });
});

const tool = ['children', 'tool.send_1', 'snapshot'];

describe('a snapshot in a state that its machine no longer has', () => {
  it.each<[string, string, readonly string[], unknown, readonly string[]]>([
    ['the agent loop', 'paused', ['value'], 'asleep', ['agent-loop', '"asleep"', '(value)']],
    [
      'a state within another',
      'call-model.attempt',
      ['value'],
      { active: { dream: 'deep' } },
      ['agent-loop', '"active.dream.deep"'],
    ],
    [
      'a tool call',
      'execute-tools.await-approval',
      [...tool, 'value'],
      'awaitVote',
      ['tool-call', '"awaitVote"', 'children["tool.send_1"].snapshot.value'],
    ],
    [
      'a model call',
      'call-model.attempt',
      ['children', 'modelCall', 'snapshot', 'value'],
      'stream',
      ['model-call', '"stream"', 'children.modelCall.snapshot.value'],
    ],
  ])('of %s, is refused with the versions', (_name, from, path, value, words) => {
    const { code, message } = refusalOf(changed(snapshotNamed(from), path, value));
    expect(code).toBe('snapshot_incompatible');
    const versions = [`Pawl ${pawlVersion}`, 'schema version 1', 'at 1', 'left as it is'];
    for (const word of [...words, ...versions]) expect(message).toContain(word);
  });

  it('is named in few words, whatever a file says', () => {
    const { message } = refusalOf(changed(snapshotNamed('paused'), ['value'], 'x'.repeat(1e6)));
    expect(message.length).toBeLessThan(600);
  });
});

describe('the error of a broken snapshot names the place', () => {
  it.each<[string, string, readonly string[], unknown, string]>([
    [
      'a spend',
      'paused',
      ['context', 'ledger', 'spent', 'turns'],
      -1,
      'context.ledger.spent.turns',
    ],
    [
      'a price',
      'paused',
      ['context', 'settings', 'models', '0', 'price', 'input'],
      'free',
      'context.settings.models[0].price.input',
    ],
    [
      'no price where costs are limited',
      'paused',
      ['context', 'ledger', 'limits', 'maxCostMicros'],
      1,
      '',
    ],
    [
      'a block of a message',
      'paused',
      ['context', 'messages', '0', 'content', '0'],
      { type: 'text' },
      'context.messages[0].content[0]',
    ],
    [
      'the end of a run that goes on',
      'paused',
      ['context', 'status'],
      'completed',
      'context.status',
    ],
    [
      'a reservation that is gone',
      'call-model.attempt',
      ['context', 'ledger', 'reserved'],
      [],
      'context.ledger.reserved',
    ],
    ['a child that is gone', 'execute-tools.run', ['children'], {}, 'children["tool.send_1"]'],
    [
      'a child that is none',
      'paused',
      ['children', 'tool.x'],
      { src: 'toolCall', snapshot: {} },
      'children["tool.x"].snapshot.status',
    ],
    [
      'a child of no state',
      'paused',
      ['children', 'modelCall'],
      { src: 'modelCall', snapshot: {} },
      'children.modelCall',
    ],
    [
      'a child of another kind',
      'execute-tools.run',
      ['children', 'tool.send_1', 'src'],
      { transition: 1 },
      'children["tool.send_1"].src',
    ],
    [
      'an effect that was stopped',
      'execute-tools.run',
      [...tool, 'children', 'runTool', 'snapshot', 'status'],
      'stopped',
      'children["tool.send_1"].snapshot.children.runTool.snapshot.status',
    ],
    [
      'another effect than that of the call',
      'execute-tools.run',
      [...tool, 'context', 'effect'],
      'read',
      'children["tool.send_1"].snapshot.context.effect',
    ],
    [
      'a call that no tool use asks for',
      'execute-tools.run',
      ['context', 'calls', '0', 'name'],
      'pay',
      'context.calls[0].name',
    ],
    [
      'an own __proto__',
      'paused',
      ['context', 'ledger'],
      JSON.parse('{"__proto__":{"limits":{}}}'),
      'context.ledger.__proto__',
    ],
  ])('%s', (_name, from, path, value, place) => {
    const snapshot = snapshotNamed(from);
    if (place === '') {
      changed(snapshot, ['context', 'settings', 'models', '0', 'price'], null);
      const error = refusalOf(changed(snapshot, path, value));
      expect(error.message).toContain(' at context.settings.models[0].price,');
      return;
    }
    const error = refusalOf(changed(snapshot, path, value));
    expect(error.code).toBe('snapshot_incompatible');
    expect(error.message).toContain(` at ${place}, got `);
  });
});

describe('a store with a run that this version can not read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-foreign-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Two runs that were left while their tools ran; one of them by a version that knew another state. */
  async function fillStore(store: Store): Promise<void> {
    const foreign = inForeignState(store);
    for (const [runId, kept] of [
      ['foreign', foreign],
      ['known', store],
    ] as const) {
      const world = newWorld();
      const hold = new Promise<never>(() => {});
      const run = playOf('reported', world, { store: kept, hold }).start({ runId });
      while (world.begun.length === 0) await new Promise((resolve) => setImmediate(resolve));
      await run.suspend();
    }
  }

  /** Of all but SQLite's own header, which counts how often the file was opened. */
  const hashOf = (path: string): string =>
    createHash('sha256').update(readFileSync(path).subarray(100)).digest('hex');

  it('is left as it is, without a lease', async () => {
    const path = join(folder, 'one.db');
    const filled = sqliteStore(path);
    await fillStore(filled);
    await filled.close();
    const before = hashOf(path);
    const store = sqliteStore(path);
    const world = newWorld();
    const { agent } = playOf('reported', world, { store });
    await expect(agent.resume('foreign')).rejects.toMatchObject({
      code: 'snapshot_incompatible',
      message: expect.stringContaining('"active.daydream"'),
    });
    await store.close();
    expect(hashOf(path)).toBe(before);
    expect(world).toEqual(newWorld());
  });

  it('lets all other runs go on, and says of which it did not', async () => {
    const store = memoryStore();
    await fillStore(store);
    const warnings: unknown[] = [];
    const spy = vi.spyOn(process, 'emitWarning').mockImplementation((text) => {
      warnings.push(text);
    });
    const resumed = await playOf('reported', newWorld(), { store }).agent.resumeAll();
    spy.mockRestore();
    expect(resumed.map(({ id }) => id)).toEqual(['known']);
    expect(await resumed[0]?.result).toMatchObject({ status: 'completed' });
    expect(warnings).toEqual([expect.stringMatching(/^Run "foreign" was not resumed: .*daydream/)]);
    expect((await store.load('foreign'))?.head.status).toBe('running');
  });
});
