/** Checks of what a caller hands in. Each takes the name of the field, for the message; undefined is a field left out. */
import { invalidInput } from './errors.ts';
import { nearNames } from './near-names.ts';
import { maxRate } from './price.ts';

/** An object with no other fields than these. @throws PawlError `invalid_input` */
export function checkFields(field: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput(field, 'an object', value);
  }
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const [near] = nearNames(name, known, 1);
    const hint = near === undefined ? `one of ${known.join(', ')}` : `another name (${near}?)`;
    throw invalidInput(nameIn(field, name), hint, name);
  }
}

/** @throws PawlError `invalid_input` */
export function checkText(field: string, value: unknown): void {
  if (value === undefined || typeof value === 'string') return;
  throw invalidInput(field, 'a text', value);
}

/** @throws PawlError `invalid_input` */
export function checkBoolean(field: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw invalidInput(field, 'a boolean', value);
}

/** @throws PawlError `invalid_input` */
export function checkFunction(field: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw invalidInput(field, 'a function', value);
}

/** @throws PawlError `invalid_input` */
export function checkList(field: string, value: unknown): void {
  if (value === undefined || Array.isArray(value)) return;
  throw invalidInput(field, 'a list', value);
}

/** @throws PawlError `invalid_input` */
export function checkTexts(field: string, value: unknown): void {
  checkList(field, value);
  if (!Array.isArray(value)) return;
  for (const [index, item] of value.entries()) {
    if (typeof item !== 'string') throw invalidInput(`${field}[${index}]`, 'a text', item);
  }
}

/** @throws PawlError `invalid_input` */
export function checkOneOf(field: string, value: unknown, known: readonly string[]): void {
  if (value !== undefined && !known.includes(value as string)) {
    throw invalidInput(field, `one of ${known.join(', ')}`, value);
  }
}

/** A finite number. Zero is allowed. @throws PawlError `invalid_input` */
export function checkAmount(field: string, value: unknown, most = Number.MAX_VALUE): void {
  if (value === undefined) return;
  if (typeof value === 'number' && value >= 0 && value <= most) return;
  const range =
    most === Number.MAX_VALUE ? 'a finite number from 0 up' : `a number from 0 to ${most}`;
  throw invalidInput(field, range, value);
}

/** @throws PawlError `invalid_input` */
export function checkWhole(field: string, value: unknown, least: number): void {
  if (value === undefined) return;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return;
  throw invalidInput(field, `a whole number from ${least} up`, value);
}

/** A whole number, or Infinity for no limit. @throws PawlError `invalid_input` */
export function checkMost(field: string, value: unknown, least: number): void {
  if (value === undefined || value === Number.POSITIVE_INFINITY) return;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return;
  throw invalidInput(field, `a whole number from ${least} up, or Infinity`, value);
}

/** What a model costs: null, or rates in US dollars. @throws PawlError `invalid_input` */
export function checkPrice(field: string, price: unknown): void {
  if (price === undefined || price === null) return;
  checkFields(field, price, [...rateNames, 'tiers']);
  const { tiers, ...rates } = price as { readonly tiers?: unknown };
  checkRates(field, rates);
  checkList(`${field}.tiers`, tiers);
  const bounds = new Set<unknown>();
  for (const [index, tier] of (Array.isArray(tiers) ? tiers : []).entries()) {
    const at = `${field}.tiers[${index}]`;
    checkFields(at, tier, [...rateNames, 'aboveInputTokens']);
    const { aboveInputTokens = null, ...tierRates } = tier;
    checkAmount(`${at}.aboveInputTokens`, aboveInputTokens);
    if (bounds.has(aboveInputTokens)) {
      throw invalidInput(
        `${at}.aboveInputTokens`,
        'another bound than each tier before',
        aboveInputTokens,
      );
    }
    bounds.add(aboveInputTokens);
    checkRates(at, tierRates);
  }
}

const rateNames = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWriteLong'];

function checkRates(field: string, rates: object): void {
  for (const [name, rate] of Object.entries({ input: null, output: null, ...rates })) {
    checkAmount(`${field}.${name}`, rate, maxRate);
  }
}

/** Options of the function itself have no path before their names. */
const nameIn = (field: string, name: string): string =>
  field === 'options' ? name : `${field}.${name}`;
