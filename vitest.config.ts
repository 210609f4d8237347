/** Three tiers, by what a test needs; `npm test` runs the first two. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const cores = availableParallelism();

export default defineConfig({
  test: {
    passWithNoTests: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: cores,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/{unit,conformance}/**/*.test.ts'],
          setupFiles: ['test/support/leak-check.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/{integration,seeds}/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/leak-check.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          exclude: ['test/system/agents/**'],
        },
      },
    ],
  },
});
