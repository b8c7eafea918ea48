/** Checks who imports whom in this project: `npm run check:imports`. The rules: scripts/imports/rules.ts. */
import { fileURLToPath } from 'node:url';
import { readSources } from './imports/read-sources.ts';
import { checkImports } from './imports/violations.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { fileCount, importCount, violations } = checkImports(await readSources(root));
for (const violation of violations) console.error(violation);
const counts = `${fileCount} files, ${importCount} imports`;
if (violations.length > 0) {
  console.error(`Import rules: ${violations.length} broken (${counts}).`);
  process.exitCode = 1;
} else {
  console.log(`Import rules: all kept (${counts}).`);
}
