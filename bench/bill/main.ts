/** What Pawl's cache marks make a run cost, as a multiple of the least that its requests could have cost. */
import { usdOfMicros } from '../../src/core/price.ts';
import { type Bill, billOf, mostRatio } from './bill.ts';
import { type Play, playRuns } from './play-runs.ts';

const talks = { turns: 50, toolsPerTurn: 2, steeredTurn: 12, approvedTurn: 24, deniedTurn: 36 };

/** Further runs that share a part of what the first one began with: another prompt, another system prompt. */
const prompts = { count: 4, change: 'prompt' } as const;
const systems = { count: 4, change: 'system' } as const;

/** The first one is what people get who choose nothing. */
const plays: readonly Play[] = [
  { ...talks, model: 'claude-sonnet-5-5', caching: '5m' },
  { ...talks, model: 'claude-sonnet-5-5', caching: '1h' },
  { ...talks, model: 'claude-haiku-4-5', caching: '5m' },
  { turns: 20, toolsPerTurn: 15, model: 'claude-sonnet-5-5', caching: '5m' },
  { turns: 10, toolsPerTurn: 2, model: 'claude-sonnet-5-5', caching: '5m', otherRuns: prompts },
  { turns: 10, toolsPerTurn: 2, model: 'claude-sonnet-5-5', caching: '5m', otherRuns: systems },
];

const usd = (micros: number): string => usdOfMicros(micros).toFixed(4);
const times = (ratio: number): string => `${ratio.toFixed(ratio < 2 ? 3 : 1)} ×`;
const row = (cells: readonly string[]): string =>
  cells.map((cell, index) => (index === 0 ? cell.padEnd(62) : cell.padStart(11))).join('');

function rowOf({ model, caching, turns, toolsPerTurn, otherRuns }: Play, bill: Bill): string {
  const others = otherRuns ? `, ${otherRuns.count} more, other ${otherRuns.change}` : '';
  const name = `${model} ${caching}, ${turns} × ${toolsPerTurn} tools${others}`;
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
    const bill = billOf(await playRuns(play));
    bills.push(bill);
    console.log(rowOf(play, bill));
  }
  const { steeredTurn, approvedTurn, deniedTurn } = talks;
  console.log(
    `In runs of ${talks.turns} turns a person steers in turn ${steeredTurn}, approves in ${approvedTurn}, denies in ${deniedTurn}.`,
  );
  const isGood = bills.every(({ ratio, isPrefixKept }) => ratio <= mostRatio && isPrefixKept);
  if (!isGood) process.exitCode = 1;
  console.log(`bill: ${Math.max(...bills.map(({ ratio }) => ratio)).toFixed(2)} ×`);
}

await main();
