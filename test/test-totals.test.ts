import { describe, expect, it } from 'vitest';
import { formatTotals, type TestReport, totalTests } from '../scripts/test-totals/total.ts';

function report(status: string, ...tests: [string, string][]): TestReport {
  const assertionResults = tests.map(([fullName, status]) => ({ fullName, status }));
  return { testResults: [{ name: '/pawl/test/a.test.ts', status, assertionResults }] };
}

describe('totalTests', () => {
  it.each([
    ['no report', [], { passed: 0, failed: 0, skipped: 0 }],
    [
      'one of each',
      [report('failed', ['a', 'passed'], ['b', 'failed'], ['c', 'pending'], ['d', 'todo'])],
      { passed: 1, failed: 1, skipped: 2 },
    ],
    [
      'the same test on two runtimes counts once',
      [report('passed', ['a', 'passed']), report('passed', ['a', 'passed'])],
      { passed: 1, failed: 0, skipped: 0 },
    ],
    [
      'a failure on one runtime is a failure',
      [report('failed', ['a', 'failed']), report('passed', ['a', 'passed'])],
      { passed: 0, failed: 1, skipped: 0 },
    ],
    [
      'skipped on one runtime, passed on the other',
      [report('passed', ['a', 'pending']), report('passed', ['a', 'passed'])],
      { passed: 1, failed: 0, skipped: 0 },
    ],
    [
      'two tests of one name are two',
      [report('failed', ['a', 'passed'], ['a', 'failed'])],
      { passed: 1, failed: 1, skipped: 0 },
    ],
    ['a file that cannot be loaded', [report('failed')], { passed: 0, failed: 1, skipped: 0 }],
  ])('%s', (_name, reports, totals) => {
    expect(totalTests(reports)).toEqual(totals);
  });
});

describe('formatTotals', () => {
  it('is one plain line', () => {
    expect(formatTotals({ passed: 12, failed: 3, skipped: 1 })).toBe('12 passed, 3 failed');
  });
});
