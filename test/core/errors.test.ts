import { describe, expect, it, vi } from 'vitest';
import { invalidInput, PawlError, toFailure } from '../../src/core/errors.ts';

describe('PawlError.is', () => {
  it('knows an error of another copy of this package', async () => {
    vi.resetModules();
    const copy = await import('../../src/core/errors.ts');
    const foreign = new copy.PawlError('internal', 'from afar');
    expect(copy.PawlError).not.toBe(PawlError);
    expect(foreign).not.toBeInstanceOf(PawlError);
    expect(PawlError.is(foreign)).toBe(true);
    expect(copy.PawlError.is(new PawlError('internal', 'from here'))).toBe(true);
  });

  it.each([
    ['an error of its own', new PawlError('internal', 'x'), true],
    ['an error of a class below', new (class Mine extends PawlError {})('internal', 'x'), true],
    ['another error', new Error('x'), false],
    ['what only looks like one', { name: 'PawlError', code: 'internal', message: 'x' }, false],
    ['what a JSON text claims', JSON.parse('{"pawl.error":true}'), false],
    ['null', null, false],
    ['nothing', undefined, false],
    ['a text', 'pawl.error', false],
    ['a function', () => {}, false],
  ])('of %s', (_, value, expected) => {
    expect(PawlError.is(value)).toBe(expected);
  });
});

it('keeps code, message, cause and a name', () => {
  const cause = new Error('deep');
  const error = new PawlError('store_failed', 'The disk is full.', { cause });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'PawlError', code: 'store_failed', cause });
  expect(String(error)).toBe('PawlError: The disk is full.');
});

it('becomes a failure of plain data, without its cause', () => {
  const error = new PawlError('internal', 'x', { cause: new Error('secret') });
  expect(toFailure(error)).toEqual({ code: 'internal', message: 'x' });
});

describe('invalidInput', () => {
  it.each<[unknown, string]>([
    ['a\n"b"', '"a\\n\\"b\\""'],
    ['x'.repeat(500), `"${'x'.repeat(80)}"`],
    ['\ud800', '"\\ud800"'],
    [() => {}, 'a function'],
    [[1, 2], 'an array of 2'],
    [{ toString: () => 'hostile' }, 'an object'],
    [null, 'null'],
    [undefined, 'undefined'],
    [Number.NaN, 'NaN'],
    [-1, '-1'],
    [Symbol('s'), 'Symbol(s)'],
    [10n, '10'],
  ])('says what it got: %s', (got, described) => {
    const error = invalidInput('budget.maxTurns', 'a number', got);
    expect(error.code).toBe('invalid_input');
    expect(error.message).toBe(`budget.maxTurns: expected a number, got ${described}.`);
  });
});
