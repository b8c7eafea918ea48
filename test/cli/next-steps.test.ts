import { describe, expect, it } from 'vitest';
import { type Kept, resumeLine, shellWord, tellLine } from '../../src/cli/next-steps.ts';

const store = '.pawl/runs.db';
const runId = 'run_3f2a91c0-2222-4333-8444-555555555555';

describe('a word for the shell', () => {
  it.each([
    ['toolu_01AbC', 'toolu_01AbC'],
    ['./tools.mjs', './tools.mjs'],
    ['two words', "'two words'"],
    ["it's", "'it'\\''s'"],
    ['$(reboot)', "'$(reboot)'"],
    ['', "''"],
    ['a\u001b[2J', "'a\\u{1b}[2J'"],
    ['a\nb', "'a\\nb'"],
  ])('%j is %s', (text, word) => {
    expect(shellWord(text)).toBe(word);
  });
});

describe('the command to go on with', () => {
  it.each<[Partial<Kept>, readonly string[], string]>([
    [{}, [], 'pawl resume 3f2a91c0'],
    [{}, ['--max-turns', '4'], 'pawl resume 3f2a91c0 --max-turns 4'],
    [
      { store: 'my runs.db', tools: 't.mjs', system: 'Be brief.', ask: true },
      [],
      "pawl resume 3f2a91c0 --store 'my runs.db' --tools t.mjs --system 'Be brief.' --ask",
    ],
    [{ yes: true }, [], 'pawl resume 3f2a91c0 --yes'],
  ])('%j %j', (kept, more, line) => {
    expect(resumeLine(runId, { store, ...kept }, ...more)).toBe(line);
  });

  it('names the call that waits', () => {
    expect(tellLine('approve', runId, 'toolu_1', { store })).toBe('pawl approve 3f2a91c0 toolu_1');
  });
});
