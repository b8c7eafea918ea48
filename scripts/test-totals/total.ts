/** The part of Vitest's JSON report that is read here. */
export interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** How many distinct tests there are of each outcome. */
export interface TestTotals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

type Outcome = keyof TestTotals;

/**
 * Counts each test once over all reports: it failed when it failed anywhere, and passed when it
 * passed somewhere and failed nowhere. A file that fails with no failing test in it (it could not be
 * loaded) counts as one failure.
 */
export function totalTests(reports: readonly TestReport[]): TestTotals {
  const outcomes = new Map<string, Outcome>();
  for (const report of reports) {
    for (const [test, outcome] of outcomesOf(report)) {
      outcomes.set(test, worse(outcomes.get(test), outcome));
    }
  }
  const count = (wanted: Outcome): number =>
    [...outcomes.values()].filter((outcome) => outcome === wanted).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
}

/** The line that CI reads. */
export function formatTotals({ passed, failed }: TestTotals): string {
  return `${passed} passed, ${failed} failed`;
}

function outcomesOf(report: TestReport): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const file of report.testResults) {
    const before = outcomes.size;
    for (const { fullName, status } of file.assertionResults) {
      // Tests of one file may share a name, and the same one comes at the same place in each report.
      outcomes.set(
        JSON.stringify([file.name, fullName, outcomes.size - before]),
        outcomeOf(status),
      );
    }
    const hasFailure = file.assertionResults.some(({ status }) => status === 'failed');
    if (file.status === 'failed' && !hasFailure) outcomes.set(file.name, 'failed');
  }
  return outcomes;
}

function outcomeOf(status: string): Outcome {
  if (status === 'passed' || status === 'failed') return status;
  return 'skipped';
}

function worse(a: Outcome | undefined, b: Outcome): Outcome {
  if (a === 'failed' || b === 'failed') return 'failed';
  return a === 'passed' || b === 'passed' ? 'passed' : 'skipped';
}
