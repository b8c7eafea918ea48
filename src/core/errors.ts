import type { ErrorCode, Failure } from './failure.ts';

const brand = Symbol.for('pawl.error');

/** Every error that Pawl throws on purpose. `code` is stable; `message` is for people. */
export class PawlError extends Error {
  override readonly name: string = 'PawlError';
  readonly code: ErrorCode;
  readonly [brand] = true;

  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }

  /** Like `instanceof`, but true across two copies of this package. */
  static is(value: unknown): value is PawlError {
    return typeof value === 'object' && value !== null && brand in value;
  }
}

export const toFailure = (error: PawlError): Failure => ({
  code: error.code,
  message: error.message,
});

/** Bad input of a caller, refused before any effect: which field, what was expected, what was got. */
export const invalidInput = (field: string, expected: string, got: unknown): PawlError =>
  new PawlError('invalid_input', `${field}: expected ${expected}, got ${describeGot(got)}.`);

/** A value in a few words, for an error that says what was got. */
export function describeGot(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
