import { describe, expect, it } from 'vitest';
import { exitCodeOf, exitCodeOfError, exitCodes, type Outcome } from '../../src/cli/exit-code.ts';
import { chatHelp, mainHelp, runHelp } from '../../src/cli/help.ts';
import { PawlError } from '../../src/core/errors.ts';

const completed: Outcome = { status: 'completed', errorCode: null, waits: null, hasDenial: false };

describe('the exit code of a run', () => {
  it.each<[number, string, Partial<Outcome>]>([
    [0, 'completed', {}],
    [8, 'completed after a denial', { hasDenial: true }],
    [1, 'failed', { status: 'failed', errorCode: 'provider_auth' }],
    [1, 'failed without a code', { status: 'failed' }],
    [1, 'failed after a denial', { status: 'failed', errorCode: 'internal', hasDenial: true }],
    [3, 'exhausted', { status: 'exhausted', errorCode: 'budget_exceeded' }],
    [3, 'exhausted after a denial', { status: 'exhausted', hasDenial: true }],
    [4, 'left with an approval wanted', { status: 'suspended', waits: 'approval' }],
    [4, 'left with a higher limit wanted', { status: 'suspended', waits: 'budget' }],
    [4, 'left paused', { status: 'suspended', waits: 'resume' }],
    [130, 'stopped at work', { status: 'suspended' }],
    [5, 'left with a settlement wanted', { status: 'suspended', waits: 'settlement' }],
    [6, 'refused', { status: 'refused', errorCode: 'refused' }],
    [7, 'held elsewhere', { status: 'failed', errorCode: 'run_locked' }],
    [7, 'overtaken by another writer', { status: 'failed', errorCode: 'stale_snapshot' }],
    [7, 'started already', { status: 'failed', errorCode: 'run_exists' }],
    [130, 'cancelled', { status: 'cancelled', errorCode: 'cancelled' }],
    [130, 'cancelled after a denial', { status: 'cancelled', hasDenial: true }],
  ])('is %i when it %s', (code, _name, outcome) => {
    expect(exitCodeOf({ ...completed, ...outcome })).toBe(code);
  });
});

describe('the exit code of an error', () => {
  it.each([
    [2, new PawlError('invalid_input', 'no')],
    [2, new PawlError('unknown_run', 'no')],
    [2, new PawlError('unknown_tool_use', 'no')],
    [7, new PawlError('run_exists', 'no')],
    [7, new PawlError('run_locked', 'no')],
    [1, new PawlError('not_awaiting', 'no')],
    [1, new PawlError('store_failed', 'no')],
    [1, new TypeError('no')],
    [1, 'a string'],
    [1, undefined],
  ])('is %i for %s', (code, error) => {
    expect(exitCodeOfError(error)).toBe(code);
  });
});

describe('the help pages', () => {
  it.each([mainHelp, runHelp, chatHelp])('name every exit code', (help) => {
    const named = [...help.matchAll(/^ {2,}(\d+) {2}/gm)].map(([, code]) => Number(code));
    expect(named).toEqual(Object.values(exitCodes));
  });
});
