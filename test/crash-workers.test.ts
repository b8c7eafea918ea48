/** Several processes that want the same runs. */
import { afterAll, expect, it } from 'vitest';
import { eachOf } from './crash/each-of.ts';
import { liveUndisturbed } from './crash/play.ts';
import { programs } from './crash/programs.ts';
import { contestedRace } from './crash/race.ts';
import { playTakeover, takeovers } from './crash/zombies.ts';

afterAll(programs.remove);

it('of two processes that resume and approve 40 runs at once, one carries out each call, and the other does nothing', async () => {
  const { problems, won, lost } = await contestedRace(40);
  expect(problems).toEqual([]);
  // A race that one of them wins alone proves little.
  for (const count of [...won, ...lost]) expect(count).toBeGreaterThan(0);
}, 240_000);

it('a process that wakes up after another took its run over does nothing more, and is told so', async () => {
  const { messages, points } = await liveUndisturbed();
  const played = await eachOf(takeovers(points, 10), 2, (takeover) =>
    playTakeover(takeover, messages),
  );
  expect(played.flatMap(({ problems }) => problems)).toEqual([]);
  const taken = played.filter(({ wasTakenOver }) => wasTakenOver).length;
  expect(taken).toBeGreaterThanOrEqual(8);
}, 240_000);
