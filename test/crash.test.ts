/** A run whose process is killed with SIGKILL, at each kind of moment, and which another process goes on with. */
import { afterAll, expect, it } from 'vitest';
import { closeTrial, killAtEach, liveUndisturbed } from './crash/play.ts';
import { programs } from './crash/programs.ts';
import type { Point } from './crash/world.ts';

/** Of each boundary the first point, the last one, and some between. `npm run crash` takes all. */
function spread(points: readonly Point[]): readonly Point[] {
  const last = new Map(points.map(({ boundary, time }) => [boundary, time]));
  return points.filter(({ boundary, time }) => {
    const times = last.get(boundary) ?? 0;
    return time === times || time % (times > 8 ? 3 : 2) === 1;
  });
}

const boundaries = [
  ...['load', 'save', 'post', 'posted', 'release', 'close'].flatMap((name) => [
    `${name} before`,
    `${name} after`,
  ]),
  ...['model before', 'model begun', 'model busy', 'model billed'],
  ...['tool before', 'tool begun', 'tool acted', 'tool failed', 'tool end'],
];

afterAll(programs.remove);

it('a run that is killed at any moment ends as the undisturbed one, with nothing lost and nothing done twice', async () => {
  const { messages, points } = await liveUndisturbed();
  expect(messages).toHaveLength(12);
  const trials = await killAtEach(spread(points), messages, 3);

  expect(trials.flatMap(closeTrial)).toEqual([]);
  const killed = trials.filter(({ kills }) => kills === 1).map(({ name }) => name);
  const hit = new Set(killed.map((name) => name.slice(0, name.lastIndexOf(' '))));
  expect(killed.length).toBeGreaterThanOrEqual(60);
  expect([...hit]).toEqual(expect.arrayContaining(boundaries));
  console.log(`crash: ${killed.length} of ${points.length} points, ${trials.length} runs ended`);
}, 300_000);
