/** The corpus of agent-loop failures, played against the public API. By hand: `npm run conformance`. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { floorProblems } from './conformance/floors.ts';
import { loadFolder } from './conformance/load-case.ts';
import type { Verdict } from './conformance/play.ts';
import { playFolder, playsOf } from './conformance/play-all.ts';
import { programs } from './conformance/programs.ts';

const folder = loadFolder(fileURLToPath(new URL('corpus', import.meta.url)));
const plays = [
  ...playsOf(folder).map(({ kase, mode }) => `${kase.id} ${mode}`),
  ...folder.recordings.map(({ id, kind }) => `wire/${id} ${kind}`),
];

describe('the corpus', () => {
  const verdicts = new Map<string, Verdict>();

  beforeAll(async () => {
    for (const verdict of await playFolder(folder)) {
      verdicts.set(`${verdict.id} ${verdict.mode}`, verdict);
    }
  }, 120_000);
  afterAll(programs.remove);

  it.for(plays)('is met: %s', (play, { skip }) => {
    const verdict = verdicts.get(play);
    if (verdict?.kind === 'skipped') skip(verdict.reasons.join(', '));
    expect(verdict?.reasons).toEqual([]);
    expect(verdict?.kind).toBe('passed');
  });

  it('is all there', () => {
    expect(floorProblems([...verdicts.values()])).toEqual([]);
    expect(folder.unreadable).toEqual([]);
  });
});
