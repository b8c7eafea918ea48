import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { floorProblems } from './floors.ts';
import { keepLast } from './keep-last.ts';
import { loadFolder } from './load-case.ts';
import { playCase } from './play.ts';
import { playFolder } from './play-all.ts';
import { cleanPrototype, isTroubled, watchProcess } from './process-watch.ts';
import { sampleCase, sampleTool } from './sample-case.ts';

const start = { do: 'start', prompt: 'Go.' };
const settled = { do: 'wait', for: 'settled' };
const gated = [sampleTool(undefined, { needsApproval: true, sideEffect: true })];

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

  it.each([
    [
      'OpenAI',
      { ...sampleCase(), script: { ...sampleCase().script, api: 'openai' } },
      'no OpenAI provider yet',
    ],
    [
      'a killed process',
      sampleCase({ actions: [start, { do: 'kill' }, { do: 'resume' }] }),
      'no durable store yet',
    ],
  ])('skips %s with the reason', async (_name, kase, reason) => {
    expect(await playCase(kase, 'json')).toMatchObject({ kind: 'skipped', reasons: [reason] });
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
        checkpoints: { again: { status: 'awaiting_approval', pending: ['toolu_1'] } },
        toolInputs: { toolu_1: [{ at: 2 }] },
        toolExecutions: { toolu_1: 1 },
        artifacts: { snapshotsEqual: ['before=after'] },
      },
    });
    expect(await playCase(kase, 'sse')).toMatchObject({ kind: 'passed', reasons: [] });
  });
});

describe('playFolder', () => {
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

describe('floorProblems', () => {
  it('finds fault with a corpus of which nothing was played', () => {
    expect(floorProblems([])).toHaveLength(2);
  });
});
