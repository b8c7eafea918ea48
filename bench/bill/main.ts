/** What Pawl's cache marks make a run cost, as a multiple of the least that its requests could have cost. */
import type { Price } from '../../src/core/price.ts';
import { costMicros, usdOfMicros } from '../../src/core/price.ts';
import { knownModel } from '../../src/core/prices.ts';
import type { Usage } from '../../src/core/reply.ts';
import {
  billedUsage,
  inputTokensOf,
  keepsPrefix,
  leastUsage,
  uncachedUsage,
} from './cache-bill.ts';
import { type Play, type Played, playRun } from './play-run.ts';

const mostRatio = 1.05;
const talks = { turns: 50, toolsPerTurn: 2, steeredTurn: 12, approvedTurn: 24, deniedTurn: 36 };

/** The first one is what people get who choose nothing. */
const plays: readonly Play[] = [
  { ...talks, model: 'claude-sonnet-5-5', caching: '5m' },
  { ...talks, model: 'claude-sonnet-5-5', caching: '1h' },
  { ...talks, model: 'claude-haiku-4-5', caching: '5m' },
  { turns: 20, toolsPerTurn: 15, model: 'claude-sonnet-5-5', caching: '5m' },
];

interface Bill {
  readonly costMicros: number;
  readonly leastMicros: number;
  readonly uncachedMicros: number;
  readonly ratio: number;
  readonly isPrefixKept: boolean;
}

function billOf({ play, bodies }: Played): Bill {
  const price = knownModel(play.model)?.price ?? null;
  const sizes = bodies.map(inputTokensOf);
  const cost = costOf(price, billedUsage(bodies));
  const least = costOf(price, leastUsage(sizes, play.caching));
  return {
    costMicros: cost,
    leastMicros: least,
    uncachedMicros: costOf(price, uncachedUsage(sizes)),
    ratio: cost / least,
    isPrefixKept: keepsPrefix(bodies),
  };
}

const costOf = (price: Price | null, usages: readonly Usage[]): number =>
  usages.reduce((sum, usage) => sum + costMicros(price, usage), 0);

const usd = (micros: number): string => usdOfMicros(micros).toFixed(4);
const times = (ratio: number): string => `${ratio.toFixed(ratio < 2 ? 3 : 1)} ×`;
const row = (cells: readonly string[]): string =>
  cells.map((cell, index) => (index === 0 ? cell.padEnd(36) : cell.padStart(11))).join('');

function rowOf({ model, caching, turns, toolsPerTurn }: Play, bill: Bill): string {
  const name = `${model} ${caching}, ${turns} × ${toolsPerTurn} tools`;
  const costs = [bill.costMicros, bill.leastMicros, bill.uncachedMicros].map(usd);
  return row([
    name,
    ...costs,
    times(bill.uncachedMicros / bill.leastMicros),
    bill.isPrefixKept ? 'kept' : 'BROKEN',
    times(bill.ratio),
  ]);
}

async function main(): Promise<void> {
  console.log(row(['USD for input', 'Pawl', 'optimum', 'no cache', '', 'prefix', 'Pawl']));
  const bills: Bill[] = [];
  for (const play of plays) {
    const bill = billOf(await playRun(play));
    bills.push(bill);
    console.log(rowOf(play, bill));
  }
  const { steeredTurn, approvedTurn, deniedTurn } = talks;
  console.log(
    `In runs of ${talks.turns} turns a person steers in turn ${steeredTurn}, approves in ${approvedTurn}, denies in ${deniedTurn}.`,
  );
  const isGood = bills.every(({ ratio, isPrefixKept }) => ratio <= mostRatio && isPrefixKept);
  if (!isGood) process.exitCode = 1;
  console.log(`bill: ${(bills[0]?.ratio ?? Number.NaN).toFixed(2)} ×`);
}

await main();
