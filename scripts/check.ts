/** Runs every check of the project, cheap ones first, and stops at the first that fails: `npm run check`. */
import { spawnSync } from 'node:child_process';

const steps = ['lint', 'typecheck', 'check:imports', 'check:dead', 'test', 'check:package'];
const startedAt = Date.now();

const failed = steps.find((step) => {
  console.log(`\n▸ ${step}`);
  const { status } = spawnSync('npm', ['run', '--silent', step], {
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  return status !== 0;
});

const seconds = Math.round((Date.now() - startedAt) / 1000);
if (failed === undefined) {
  console.log(`\nAll checks passed in ${seconds} s: ${steps.join(', ')}.`);
} else {
  console.error(`\nChecks failed at "${failed}" after ${seconds} s: see \`npm run ${failed}\`.`);
  process.exitCode = 1;
}
