/**
 * `npm run prove -- --runs 20000 --seed 7`: plays that many scenarios and says in how many of them each thing happened.
 * Exit code 1, with the smallest scenario found, when a check does not hold.
 */
import { parseArgs } from 'node:util';
import { prove } from './prove.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      'no-shrink': { type: 'boolean', default: false },
    },
  });
  const [runs, seed] = [Number(values.runs), Number(values.seed)];
  if (!Number.isSafeInteger(runs) || runs < 1 || !Number.isSafeInteger(seed)) {
    console.error('--runs takes a whole number from 1 up, --seed a whole number.');
    process.exitCode = 2;
    return;
  }
  console.log(`seed ${seed}, ${runs} runs`);
  const proof = await prove({ runs, seed, shrinks: !values['no-shrink'] });
  for (const [what, times] of [...proof.covered].sort(([a], [b]) => a.localeCompare(b))) {
    console.log(`${String(times).padStart(7)}  ${what}`);
  }
  const { counterexample } = proof;
  if (counterexample === null) return console.log(`${proof.runs} runs, every check held.`);
  console.error(JSON.stringify(counterexample, null, 1));
  console.error(`Broken after ${proof.runs} runs of seed ${seed}.`);
  process.exitCode = 1;
}

await main();
