import { expect, it } from 'vitest';
import { gapsIn } from './prove/floors.ts';
import { type Proof, prove } from './prove/prove.ts';

/** The same runs each time, so that a red suite means a change; `npm run prove -- --seed N` looks at others. */
const seeds = [Number(process.env.PAWL_PROVE_SEED ?? 4_711), 20_261_129];
const runsPerSeed = 1_000;

const sumOf = (proofs: readonly Proof[]): ReadonlyMap<string, number> => {
  const sum = new Map<string, number>();
  for (const { covered } of proofs) {
    for (const [what, times] of covered) sum.set(what, (sum.get(what) ?? 0) + times);
  }
  return sum;
};

it('2,000 generated runs keep every ceiling, answer every call, and end, and meet everything that can happen', async () => {
  const proofs: Proof[] = [];
  for (const seed of seeds) {
    console.log(`prove: seed ${seed}, ${runsPerSeed} runs`);
    const proof = await prove({ seed, runs: runsPerSeed });
    expect(proof.counterexample).toBeNull();
    proofs.push(proof);
  }
  expect(gapsIn(sumOf(proofs), seeds.length * runsPerSeed)).toEqual([]);
}, 300_000);
