import type { Price } from './price.ts';

/** What is known of a model. Prices and limits move: every provider lets its caller override them. */
export interface KnownModel {
  readonly price: Price;
  /** Tokens of input and output together. */
  readonly contextWindow: number;
  /** Most output tokens of one reply. */
  readonly maxOutputTokens: number;
}

type Row = readonly [input: number, output: number, cacheRead: number, cacheWrite: number];

const priceOf = ([input, output, cacheRead, cacheWrite]: Row): Price => ({
  input,
  output,
  cacheRead,
  cacheWrite,
  cacheWriteLong: input * 2,
});

const large = (...row: Row): KnownModel => ({
  price: priceOf(row),
  contextWindow: 1_000_000,
  maxOutputTokens: 128_000,
});

const small = (...row: Row): KnownModel => ({
  price: priceOf(row),
  contextWindow: 200_000,
  maxOutputTokens: 64_000,
});

/** US dollars per million tokens, as of November 2026. */
const models: ReadonlyMap<string, KnownModel> = new Map([
  ['claude-fable-5', large(10, 50, 1, 12.5)],
  ['claude-fable-5-1', large(10, 50, 0.25, 12.5)],
  ['claude-fable-5-2', large(8, 40, 0.2, 10)],
  ['claude-opus-5-5', large(4, 20, 0.2, 5)],
  ['claude-opus-5', large(5, 25, 0.5, 6.25)],
  ['claude-opus-4-8', large(5, 25, 0.5, 6.25)],
  ['claude-opus-4-7', large(5, 25, 0.5, 6.25)],
  ['claude-opus-4-6', large(5, 25, 0.5, 6.25)],
  ['claude-opus-4-5', small(5, 25, 0.5, 6.25)],
  ['claude-sonnet-5-5', large(2, 10, 0.1, 2.5)],
  ['claude-sonnet-5', large(2, 10, 0.2, 2.5)],
  ['claude-sonnet-4-6', large(3, 15, 0.3, 3.75)],
  ['claude-sonnet-4-5', small(3, 15, 0.3, 3.75)],
  ['claude-haiku-5-5', withTier(large(0.1, 0.5, 0.01, 0.125), 100_000, [0.5, 2.5, 0.05, 0.625])],
  ['claude-haiku-4-5', small(1, 5, 0.1, 1.25)],
]);

function withTier(model: KnownModel, aboveInputTokens: number, row: Row): KnownModel {
  const tier = { aboveInputTokens, ...priceOf(row) };
  return { ...model, price: { ...model.price, tiers: [tier] } };
}

const date = /^-\d{8}$/;

/** The model of this id, or of the id before a date: `claude-haiku-4-5-20251001` is `claude-haiku-4-5`. */
export function knownModel(id: string): KnownModel | null {
  const base = date.test(id.slice(-9)) ? id.slice(0, -9) : id;
  return models.get(base) ?? null;
}
