/**
 * `npm run crash -- --seed 7 --doubles 100`: kills a run at each of its points, and others several times at random; lets
 * two processes race for runs, and one wake up whose run another has taken over; lets the disk fail. Exit code 1, with
 * what went wrong, when a check does not hold.
 */
import { parseArgs } from 'node:util';
import { crashLoop, playDouble, randomDouble, randomFrom } from './doubles.ts';
import { eachOf } from './each-of.ts';
import { failDisk, killInCalls, whyNoFaults } from './faults.ts';
import { closeTrial, killAtEach, liveUndisturbed, type Trial } from './play.ts';
import { programs } from './programs.ts';
import { contestedRace } from './race.ts';
import { notesOf, type Point } from './world.ts';
import { readNotes } from './world-file.ts';
import { playTakeover, takeovers } from './zombies.ts';

interface Sizes {
  readonly seed: number;
  readonly doubles: number;
  readonly races: number;
  readonly atOnce: number;
  readonly zombies: number;
  readonly faults: number;
}

function readSizes(): Sizes | null {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      doubles: { type: 'string', default: '100' },
      races: { type: 'string', default: '200' },
      'at-once': { type: 'string', default: '4' },
      zombies: { type: 'string', default: '60' },
      faults: { type: 'string', default: '80' },
    },
  });
  const { seed, doubles, races, zombies, faults } = values;
  const sizes = {
    seed: Number(seed),
    doubles: Number(doubles),
    races: Number(races),
    atOnce: Number(values['at-once']),
    zombies: Number(zombies),
    faults: Number(faults),
  };
  return Object.values(sizes).every(Number.isSafeInteger) && sizes.atOnce > 0 ? sizes : null;
}

async function main(): Promise<void> {
  const sizes = readSizes();
  if (sizes === null) {
    console.error(
      '--seed, --doubles, --races, --at-once, --zombies and --faults take whole numbers.',
    );
    process.exitCode = 2;
    return;
  }
  console.log(`seed ${sizes.seed}, Node ${process.version}`);
  const { messages, points } = await liveUndisturbed();
  const problems = [
    ...(await reportPoints(points, messages, sizes)),
    ...(sizes.doubles ? await reportDoubles(points, messages, sizes) : []),
    ...(sizes.races ? await reportRace(sizes.races) : []),
    ...(sizes.zombies ? await reportZombies(points, messages, sizes) : []),
    ...(sizes.faults ? await reportFaults(messages, sizes) : []),
  ];
  await programs.remove();
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`Every check held, in ${Math.round(performance.now() / 1000)} s.`);
}

type Problems = Promise<readonly string[]>;
type Messages = readonly unknown[];

async function reportPoints(
  points: readonly Point[],
  expected: Messages,
  { atOnce }: Sizes,
): Problems {
  const trials = await killAtEach(points, expected, atOnce);
  return reportKills('each point', trials, points.length * 0.95);
}

async function reportDoubles(
  points: readonly Point[],
  expected: Messages,
  { seed, doubles, atOnce }: Sizes,
): Problems {
  const random = randomFrom(seed);
  const kills = Array.from({ length: doubles }, () => randomDouble(random, points));
  const trials = await eachOf([crashLoop, ...kills], atOnce, (kill) => playDouble(kill, expected));
  const notes = trials.flatMap(({ folder }) => readNotes(folder));
  const usedUp = notesOf(notes, 'ended').filter(({ status }) => status === 'exhausted');
  return [
    ...reportKills('random kills', trials, doubles),
    ...atLeast(1, usedUp.length, 'random kills: budgets used up'),
  ];
}

/** Prints the counts, and gives what went wrong. `floor`: kills that there have to be at least. */
function reportKills(title: string, trials: readonly Trial[], floor: number): readonly string[] {
  const kills = trials.reduce((sum, trial) => sum + trial.kills, 0);
  const notes = trials.flatMap(({ folder }) => readNotes(folder));
  const ends = notesOf(notes, 'ended').map(({ status }) => status);
  const settled = notesOf(notes, 'settled').length + notesOf(notes, 'retried').length;
  const repeats = notesOf(notes, 'tool begun').filter(({ attempt }) => attempt > 1).length;
  console.log(
    `${title}: ${trials.length} runs, ${kills} kills; ended ${textOf(ends)}; ${settled} interrupted calls settled, ${repeats} calls begun again`,
  );
  return [...trials.flatMap(closeTrial), ...atLeast(floor, kills, `${title}: kills`)];
}

async function reportRace(runs: number): Problems {
  const { problems, won, lost } = await contestedRace(runs);
  console.log(
    `race: ${runs} runs, two processes; won ${won.join(' and ')}, refused ${lost.join(' and ')}`,
  );
  const least = Math.min(...won, ...lost);
  return [...problems, ...atLeast(1, least, 'race: wins and refusals of each')];
}

async function reportZombies(
  points: readonly Point[],
  expected: Messages,
  { zombies, atOnce }: Sizes,
): Problems {
  const played = await eachOf(takeovers(points, zombies), Math.ceil(atOnce / 2), (takeover) =>
    playTakeover(takeover, expected),
  );
  const taken = played.filter(({ wasTakenOver }) => wasTakenOver);
  const refusals = textOf(taken.map(({ refusal }) => refusal ?? 'not refused'));
  console.log(
    `zombies: ${played.length} runs, ${taken.length} taken over from a sleeping owner; awake, it was told ${refusals}`,
  );
  const floor = Math.floor(zombies * 0.85);
  return [
    ...played.flatMap(({ problems }) => problems),
    ...atLeast(floor, taken.length, 'zombies: runs taken over'),
  ];
}

async function reportFaults(expected: Messages, { faults, atOnce }: Sizes): Problems {
  const skipped = whyNoFaults();
  if (skipped !== null) {
    console.log(`faults of the disk: skipped, ${skipped}`);
    return [];
  }
  const count = Math.ceil(faults / 2);
  const killed = await killInCalls(count, expected, atOnce);
  const kills = reportKills('kills in calls of the disk', killed, count * 0.9);
  const { trials, hits, outcomes } = await failDisk(faults, expected, atOnce);
  const hit = [...hits.values()].reduce((sum, times) => sum + times, 0);
  const calls = [...hits].map(([call, times]) => `${call} ${times}`).join(', ');
  console.log(
    `faults of the disk: ${trials.length} runs, ${hit} hit (${calls}); ${textOf(outcomes)}`,
  );
  const floor = Math.floor(faults * 0.75);
  return [
    ...kills,
    ...trials.flatMap(closeTrial),
    ...atLeast(floor, hit, 'faults of the disk: hits'),
  ];
}

const atLeast = (floor: number, got: number, what: string): readonly string[] =>
  got >= floor ? [] : [`${what}: only ${got}, of ${Math.ceil(floor)}`];

/** `completed 3, failed 1` */
function textOf(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, times]) => `${name} ${times}`).join(', ');
}

await main();
