import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { floorProblems, folderProblems } from './floors.ts';
import { keepLast } from './keep-last.ts';
import { loadFolder } from './load-case.ts';
import { modelIds } from './model-ids.ts';
import { playCase } from './play.ts';
import { playFolder } from './play-all.ts';
import { cleanPrototype, isTroubled, watchProcess } from './process-watch.ts';
import { programs } from './programs.ts';
import { sampleCase, sampleTool } from './sample-case.ts';

const start = { do: 'start', prompt: 'Go.' };
const settled = { do: 'wait', for: 'settled' };
const gated = [sampleTool(undefined, { needsApproval: true, sideEffect: true })];

afterAll(programs.remove);

describe('playCase', () => {
  it.each([
    ['a wait for what never happens', [start, { do: 'wait', for: 'request:9' }], 'not done after'],
    [
      'a wait for an approval that nobody wants',
      [start, { do: 'wait', for: 'awaiting_approval' }],
      'the run has ended',
    ],
    [
      'an approval that Pawl refuses',
      [start, settled, { do: 'approve', id: 'toolu_1' }],
      'approve was refused: run_finished',
    ],
    ['a refused start', [{ do: 'start', prompt: ' ' }], 'start was refused: invalid_input'],
    [
      'a resume of no snapshot',
      [start, settled, { do: 'resume', from: 'none' }],
      'there is no snapshot',
    ],
    ['an abort of nothing', [{ do: 'abort' }], 'there is no run'],
  ])('fails %s', async (_name, actions, problem) => {
    const { kind, reasons } = await playCase(sampleCase({ actions }), 'json');
    expect(kind).toBe('failed');
    expect(reasons.join('\n')).toContain(problem);
  });

  it('skips OpenAI with the reason', async () => {
    const kase = { ...sampleCase(), script: { ...sampleCase().script, api: 'openai' } };
    const reasons = ['no OpenAI provider yet'];
    expect(await playCase(kase, 'json')).toMatchObject({ kind: 'skipped', reasons });
  });

  it('resumes a waiting run from a snapshot, and nothing runs twice', async () => {
    const kase = sampleCase({
      tools: gated,
      actions: [
        start,
        { do: 'wait', for: 'awaiting_approval:toolu_1' },
        { do: 'snapshot', as: 'before' },
        { do: 'kill' },
        { do: 'resume', from: 'before' },
        { do: 'assert', as: 'again' },
        { do: 'snapshot', as: 'after' },
        { do: 'approve', id: 'toolu_1', input: { at: 2 } },
        settled,
      ],
      expect: {
        timeoutMs: 15_000,
        checkpoints: { again: { status: 'awaiting_approval', pending: ['toolu_1'] } },
        toolInputs: { toolu_1: [{ at: 2 }] },
        toolExecutions: { toolu_1: 1 },
        artifacts: { snapshotsEqual: ['before=after'] },
      },
    });
    expect(await playCase(kase, 'sse')).toMatchObject({ kind: 'passed', reasons: [] });
  });

  it('plays what comes after a resume within it, and fails when it goes wrong', async () => {
    const resuming = (id: string) => [
      start,
      { do: 'wait', for: 'awaiting_approval:toolu_1' },
      { do: 'snapshot', as: 'before' },
      { do: 'kill' },
      // biome-ignore lint/suspicious/noThenProperty: the word of the case format
      { do: 'resume', from: 'before', then: [{ do: 'approve', id }] },
      settled,
    ];
    const kase = (id: string) =>
      sampleCase({
        tools: gated,
        actions: resuming(id),
        expect: { timeoutMs: 15_000, toolExecutions: { toolu_1: 1 } },
      });
    expect(await playCase(kase('toolu_1'), 'json')).toMatchObject({ kind: 'passed', reasons: [] });
    const { reasons } = await playCase(kase('toolu_9'), 'json');
    expect(reasons).toContainEqual(expect.stringContaining('approve was refused'));
  });
});

describe('playFolder', () => {
  it('fails a case without modes or actions by itself, and plays the others', async () => {
    const { script, expect: expectation } = sampleCase();
    const { modes: _, ...noModes } = script;
    const { actions: __, ...noActions } = script;
    const cases = [
      { id: 'a', script: noModes as never, expect: expectation },
      { id: 'b', script: { ...noActions, modes: ['sse'] } as never, expect: expectation },
      sampleCase(),
    ];
    const verdicts = await playFolder({ cases, recordings: [], unreadable: [] });
    expect(verdicts.map(({ id, mode, kind }) => `${id} ${mode} ${kind}`)).toEqual([
      'T-001-sample json passed',
      'T-001-sample sse passed',
      'a json failed',
      'b sse failed',
    ]);
  });

  it('fails a file that is no case', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-corpus-'));
    writeFileSync(join(folder, 'a.json'), JSON.stringify(sampleCase()));
    writeFileSync(join(folder, 'b.json'), '{"id": "b"}');
    writeFileSync(join(folder, 'c.json'), '{');
    const verdicts = await playFolder(loadFolder(folder));
    rmSync(folder, { recursive: true });
    expect(verdicts.map(({ id, mode, kind }) => `${id} ${mode} ${kind}`)).toEqual([
      'T-001-sample json passed',
      'T-001-sample sse passed',
      'b.json file failed',
      'c.json file failed',
    ]);
  });
});

describe('watchProcess', () => {
  it('hears of warnings, and sees what was added to every object', async () => {
    const watch = watchProcess();
    process.emit('warning', new Error('planted'));
    Object.defineProperty(Object.prototype, 'planted', { configurable: true, value: 1 });
    const trouble = await watch.stop();
    cleanPrototype();
    expect(trouble).toMatchObject({ warnings: ['Error: planted'], isPolluted: true });
    expect(isTroubled(trouble)).toBe(true);
    expect(isTroubled(await watchProcess().stop())).toBe(false);
  });
});

describe('keepLast', () => {
  const words = 'ua'.split('');
  const talk = [...words, ...words, ...words].map((letter, index) => ({
    role: letter === 'u' ? ('user' as const) : ('assistant' as const),
    content:
      index === 4
        ? [{ type: 'tool_result' as const, tool_use_id: 'x', content: 'r' }]
        : [{ type: 'text' as const, text: String(index) }],
  }));

  it.each([
    [1, [0, 5]],
    [2, [0, 3, 4, 5]],
    [3, [0, 3, 4, 5]],
    [6, [0, 1, 2, 3, 4, 5]],
    [9, [0, 1, 2, 3, 4, 5]],
  ])('keeps the first message and the last %i, and pairs whole', (count, kept) => {
    expect(keepLast(talk, count)).toEqual(kept.map((index) => talk[index]));
  });
});

describe('modelIds', () => {
  const uses = (...ids: readonly string[]) =>
    ids.map((id) => ({ message: { content: [{ type: 'tool_use', id }] } }));

  it.each([
    ['a legal id is itself', ['toolu_1'], ['toolu_1'], ['toolu_1']],
    ['one that comes twice is one', ['a', 'a'], ['a', 'a_2'], ['a', 'a']],
    [
      'one that comes more often than it is written, too',
      ['a:1'],
      ['a_1', 'a_1_5'],
      ['a:1', 'a:1'],
    ],
    ['two of one legal form are two', ['a:1', 'a/1'], ['a_1', 'a_1_2'], ['a:1', 'a/1']],
    ['the form may be an id, too', ['a:1', 'a_1'], ['a_1', 'a_1_2'], ['a:1', 'a_1']],
    ['an id of nobody stays', ['a'], ['b_7'], ['b_7']],
  ])('%s', (_name, ids, callIds, expected) => {
    const { of } = modelIds(uses(...ids));
    expect(callIds.map(of)).toEqual(expected);
  });
});

describe('folderProblems', () => {
  const verdict = (kind: 'passed' | 'skipped') => ({
    ...{ id: 'a', mode: 'json', kind, reasons: [], durationMs: 1, isTroubled: false, killCount: 0 },
  });

  it.each([
    ['nothing in it', [], 'there is nothing to play'],
    ['only what is skipped', [verdict('skipped')], 'nothing was played'],
  ])('finds fault with a folder with %s', (_name, verdicts, problem) => {
    expect(folderProblems('here', verdicts)).toEqual([expect.stringContaining(problem)]);
  });

  it('finds none where something was played', () => {
    expect(folderProblems('here', [verdict('skipped'), verdict('passed')])).toEqual([]);
  });
});

describe('floorProblems', () => {
  it('finds fault with a corpus of which nothing was played', () => {
    expect(floorProblems([])).toHaveLength(3);
  });
});
