/**
 * `npm run crash -- --seed 7 --doubles 100`: kills a run at each of its points, and others several times at random, and
 * lets two processes race for runs. Exit code 1, with what went wrong, when a check does not hold.
 */
import { parseArgs } from 'node:util';
import { playDouble, randomDouble, randomFrom } from './doubles.ts';
import { closeTrial, eachOf, killAtEach, liveUndisturbed, type Trial } from './play.ts';
import { raceFor } from './race.ts';
import { notesOf } from './world.ts';
import { readNotes } from './world-file.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      doubles: { type: 'string', default: '100' },
      races: { type: 'string', default: '200' },
      'at-once': { type: 'string', default: '4' },
    },
  });
  const [seed, doubles, races] = [values.seed, values.doubles, values.races].map(Number);
  const atOnce = Number(values['at-once']);
  if (![seed, doubles, races, atOnce].every(Number.isSafeInteger) || atOnce < 1) {
    console.error('--seed, --doubles, --races and --at-once take whole numbers.');
    process.exitCode = 2;
    return;
  }
  console.log(`seed ${seed}`);
  const { messages, points } = await liveUndisturbed();
  const problems = [
    ...report('each point', await killAtEach(points, messages, atOnce), points.length * 0.95),
    ...report('random kills', await playDoubles(seed ?? 0, doubles ?? 0, atOnce), doubles ?? 0),
  ];
  if (races) problems.push(...(await reportRace(races)));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log('Every check held.');

  async function playDoubles(from: number, count: number, most: number) {
    const random = randomFrom(from);
    const kills = Array.from({ length: count }, () => randomDouble(random, points));
    return eachOf(kills, most, (kill) => playDouble(kill, messages));
  }
}

/** Prints the counts, and gives what went wrong. `floor`: kills that there have to be at least. */
function report(title: string, trials: readonly Trial[], floor: number): readonly string[] {
  const kills = trials.reduce((sum, trial) => sum + trial.kills, 0);
  const notes = trials.flatMap(({ folder }) => readNotes(folder));
  const ends = Object.entries(countBy(notesOf(notes, 'ended').map(({ status }) => status)));
  const settled = notesOf(notes, 'settled').length + notesOf(notes, 'retried').length;
  const repeats = notesOf(notes, 'tool begun').filter(({ attempt }) => attempt > 1).length;
  console.log(
    `${title}: ${trials.length} runs, ${kills} kills; ended ${ends.map(([status, times]) => `${status} ${times}`).join(', ')}; ${settled} interrupted calls settled, ${repeats} calls begun again`,
  );
  const few = kills < floor ? [`${title}: only ${kills} kills, of ${floor}`] : [];
  return [...trials.flatMap(closeTrial), ...few];
}

function countBy(names: readonly string[]): { readonly [name: string]: number } {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

async function reportRace(runs: number): Promise<readonly string[]> {
  const { problems, won, lost } = await raceFor(runs);
  console.log(
    `race: ${runs} runs, two processes; won ${won.join(' and ')}, refused ${lost.join(' and ')}`,
  );
  return problems;
}

await main();
