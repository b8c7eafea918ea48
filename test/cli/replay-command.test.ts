import { describe, expect, it } from 'vitest';
import { plain } from '../../src/cli/paint.ts';
import { replayLines } from '../../src/cli/replay-command.ts';
import type { Replay } from '../../src/runtime/replay.ts';

const replay = (difference: Replay['difference']): Replay => ({
  runId: 'run_3f2a91c0-2222-4333-8444-555555555555',
  fromTurn: 1,
  turns: 12,
  events: 1_204,
  replies: 12,
  results: 1,
  difference,
});

const head =
  '  3f2a91c0 · played again from turn 1: 12 turns, 1,204 events, 12 model replies and 1 tool result from the store';

describe('a replay', () => {
  it('says that nothing differs', () => {
    expect(replayLines(replay(null), plain)).toEqual([
      head,
      '  ✓ Every step came out byte for byte as it is stored. Nothing was called.',
    ]);
  });

  it('shows the first difference, and where it is', () => {
    const difference = { saveVersion: 7, path: 'spend.costMicros', stored: 120, replayed: 130 };
    expect(replayLines(replay(difference), plain)).toEqual([
      head,
      '  ✗ The first difference, at step 7: spend.costMicros',
      '      stored    120',
      '      replayed  130',
    ]);
  });

  it('shows hostile and long values harmlessly', () => {
    const stored = `\u001b[2J${'x'.repeat(500)}`;
    const difference = { saveVersion: null, path: 'context.\u202eanswer', stored, replayed: null };
    const [, where, was] = replayLines(replay(difference), plain);
    expect(where).toBe('  ✗ The first difference, at last: context.\\u{202e}answer');
    expect(was?.length).toBeLessThan(250);
    expect(was).not.toContain('\u001b');
  });
});
