/** Values of command-line options. Each reader gives null for what it can't read. */

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** `1500` and `1500ms` are milliseconds; `90s`, `1.5m`, `2h` and `30d` are what they say. Whole milliseconds. */
export function readDurationMs(text: string): number | null {
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|)$/.exec(text.trim()) ?? [];
  if (amount === '') return null;
  return safe(Math.round(Number(amount) * (unitsMs.get(unit) ?? Number.NaN)));
}

/** A whole number from 0 up. `_` and `,` may group its digits. */
export function readCount(text: string): number | null {
  const digits = text.trim();
  return /^\d+(?:[_,]\d{3})*$/.test(digits) ? safe(Number(digits.replace(/[_,]/g, ''))) : null;
}

/** US dollars, with or without a dollar sign: `0.5`, `.5`, `$2`. */
export function readUsd(text: string): number | null {
  const [, amount] = /^\$?(\d+(?:\.\d+)?|\.\d+)$/.exec(text.trim()) ?? [];
  if (amount === undefined) return null;
  return Number(amount) <= 1_000_000 ? Number(amount) : null;
}

const safe = (value: number): number | null => (Number.isSafeInteger(value) ? value : null);
