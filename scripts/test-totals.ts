/**
 * Adds up Vitest's JSON reports, one for each runtime: `tsx scripts/test-totals.ts <report.json>…`.
 * Prints one plain last line for CI, and fails when a test failed or none ran.
 */
import { readFile } from 'node:fs/promises';
import { formatTotals, type TestReport, totalTests } from './test-totals/total.ts';

const reports: TestReport[] = [];
for (const path of process.argv.slice(2)) {
  reports.push(JSON.parse(await readFile(path, 'utf8')));
}
const totals = totalTests(reports);
if (totals.skipped > 0) console.log(`${totals.skipped} skipped`);
console.log(formatTotals(totals));
if (totals.failed > 0 || totals.passed === 0) process.exitCode = 1;
