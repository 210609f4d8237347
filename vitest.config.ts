/** Three tiers, by what a test needs; `npm test` runs the first two. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Each project loads this file again, and its workers inherit the environment.
if (process.env.STOPGATE_TEST_SEED === undefined) {
  process.env.STOPGATE_TEST_SEED = String(Math.floor(Math.random() * 2 ** 31));
  process.stderr.write(`random choices: STOPGATE_TEST_SEED=${process.env.STOPGATE_TEST_SEED} repeats them\n`);
}

// Debian puts nats-server where only root's PATH leads.
process.env.PATH = `${process.env.PATH}:/usr/sbin`;

export default defineConfig({
  test: {
    passWithNoTests: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A busy machine takes its time; what never comes fails all the same.
    expect: { poll: { timeout: 20_000 } },
    maxWorkers: availableParallelism(),
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/{unit,conformance}/**/*.test.ts'],
          setupFiles: ['test/support/leak-check.ts', 'test/support/property-seed.ts'],
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
          exclude: ['test/system/agents/**', 'test/system/clients/**'],
        },
      },
    ],
  },
});
