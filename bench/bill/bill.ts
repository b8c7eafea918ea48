import { costMicros, type Price } from '../../src/core/price.ts';
import { knownModel } from '../../src/core/prices.ts';
import type { Usage } from '../../src/core/reply.ts';
import {
  billedUsage,
  inputTokensOf,
  keepsPrefix,
  leastUsage,
  uncachedUsage,
} from './cache-bill.ts';
import type { Played } from './play-runs.ts';

/** Pawl may cost this many times the least. */
export const mostRatio = 1.05;

export interface Bill {
  readonly costMicros: number;
  readonly leastMicros: number;
  readonly uncachedMicros: number;
  readonly ratio: number;
  /** Within each run. */
  readonly isPrefixKept: boolean;
}

/** What the input of a play cost, and what it could have cost. */
export function billOf({ play, runs }: Played): Bill {
  const price = knownModel(play.model)?.price ?? null;
  const bodies = runs.flat();
  const cost = costOf(price, billedUsage(bodies));
  const least = costOf(price, leastUsage(bodies, play.caching));
  return {
    costMicros: cost,
    leastMicros: least,
    uncachedMicros: costOf(price, uncachedUsage(bodies.map(inputTokensOf))),
    ratio: cost / least,
    isPrefixKept: runs.every(keepsPrefix),
  };
}

const costOf = (price: Price | null, usages: readonly Usage[]): number =>
  usages.reduce((sum, usage) => sum + costMicros(price, usage), 0);
