import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// A path here makes Vitest write its results there as JSON, besides showing them.
const reportPath = process.env.PAWL_TEST_REPORT;

export default defineConfig({
  resolve: {
    // The package under its own name is its source, as in tsconfig.json.
    alias: [
      { find: /^pawl$/, replacement: file('./src/index.ts') },
      { find: /^pawl\/machines$/, replacement: file('./machines/index.ts') },
      { find: /^pawl\/testing$/, replacement: file('./src/testing/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    reporters: reportPath ? ['default', ['json', { outputFile: reportPath }]] : ['default'],
  },
});
