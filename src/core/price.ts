import { allInputTokens, type Usage } from './reply.ts';

/** US dollars per million tokens. */
export interface Rates {
  readonly input: number;
  readonly output: number;
  /** Input read from the prompt cache. Default: `input`. */
  readonly cacheRead?: number;
  /** Input written to the cache for five minutes. Default: 1.25 × `input`. */
  readonly cacheWrite?: number;
  /** Input written to the cache for an hour. Default: 2 × `input`. */
  readonly cacheWriteLong?: number;
}

/** What a model costs. Longer inputs may have rates of their own. */
export interface Price extends Rates {
  readonly tiers?: readonly (Rates & { readonly aboveInputTokens: number })[];
}

/** Most that a rate can be: with a higher one, sums of costs would not be exact. */
export const maxRate = 1_000_000;

/** Integers, so that no sum drifts: thousandths of a micro-dollar per token. */
interface NanoRates {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWriteLong: number;
}

const nano = (usdPerMillion: number): number => Math.round(usdPerMillion * 1_000);

const nanoRates = (rates: Rates): NanoRates => ({
  input: nano(rates.input),
  output: nano(rates.output),
  cacheRead: nano(rates.cacheRead ?? rates.input),
  cacheWrite: nano(rates.cacheWrite ?? rates.input * 1.25),
  cacheWriteLong: nano(rates.cacheWriteLong ?? rates.input * 2),
});

const ratesFor = (price: Price, inputTokens: number): Rates =>
  (price.tiers ?? [])
    .filter(({ aboveInputTokens }) => inputTokens > aboveInputTokens)
    .toSorted((a, b) => a.aboveInputTokens - b.aboveInputTokens)
    .at(-1) ?? price;

/** What this usage costs, in micro-dollars, rounded up. A null price costs nothing: it is not known. */
export function costMicros(price: Price | null, usage: Usage): number {
  if (price === null) return 0;
  const rates = nanoRates(ratesFor(price, allInputTokens(usage)));
  const writeShort = usage.cacheWriteTokens - usage.cacheWriteLongTokens;
  return Math.ceil(
    (usage.inputTokens * rates.input +
      usage.outputTokens * rates.output +
      usage.cacheReadTokens * rates.cacheRead +
      writeShort * rates.cacheWrite +
      usage.cacheWriteLongTokens * rates.cacheWriteLong) /
      1_000,
  );
}

/**
 * The most that a call with at most these tokens can cost, in micro-dollars: every input token may be a cache write,
 * and a shorter input than the bound may fall into a dearer tier.
 */
export function costAtMostMicros(
  price: Price | null,
  inputTokens: number,
  outputTokens: number,
): number {
  if (price === null) return 0;
  const tiers = (price.tiers ?? []).filter((tier) => inputTokens > tier.aboveInputTokens);
  const costs = [price, ...tiers].map((rates) => {
    const { input, output, cacheRead, cacheWrite, cacheWriteLong } = nanoRates(rates);
    const dearest = Math.max(input, cacheRead, cacheWrite, cacheWriteLong);
    return Math.ceil((inputTokens * dearest + outputTokens * output) / 1_000);
  });
  return Math.max(...costs);
}

export const microsOfUsd = (usd: number): number => Math.round(usd * 1_000_000);
export const usdOfMicros = (micros: number): number => micros / 1_000_000;
