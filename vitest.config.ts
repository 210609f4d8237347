/** The tiers of the tests, by what they need. CONTRIBUTING.md says which one a new test belongs to. */
import { availableParallelism } from 'node:os';
import { defineConfig, type TestUserConfig } from 'vitest/config';
import { preferCurrentServer } from './test/support/nats-path.ts';
import { RunAloneReporter } from './test/support/run-alone-reporter.ts';
import { reporters } from './test/support/summary-reporter.ts';

// Each project loads this file again, and its workers inherit the environment.
if (process.env.STOPGATE_TEST_SEED === undefined) {
  process.env.STOPGATE_TEST_SEED = String(Math.floor(Math.random() * 2 ** 31));
  process.stderr.write(`random choices: STOPGATE_TEST_SEED=${process.env.STOPGATE_TEST_SEED} repeats them\n`);
}

await preferCurrentServer(process.env);

const cores = availableParallelism();

const shared: TestUserConfig = {
  // A busy machine is slow; what never happens fails all the same. Tests set no shorter timeouts of their own.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
  isolate: false,
};

export default defineConfig({
  test: {
    passWithNoTests: false,
    // Keeps compiled modules between runs: a quarter of the CPU of the unit tests.
    experimental: { fsModuleCache: true },
    reporters: [...reporters, new RunAloneReporter()],
    projects: [
      {
        test: {
          ...shared,
          // One project for both tiers: the workers import the program once, and what computes fills the waits of the rest.
          name: 'tests',
          maxWorkers: cores + 1,
          sequence: { groupOrder: 0 },
          include: ['test/{unit,conformance,integration,seeds}/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/leak-check.ts', 'test/support/property-seed.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'smoke',
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          include: ['test/smoke/**/*.test.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'docs',
          maxWorkers: cores,
          sequence: { groupOrder: 3 },
          include: ['test/docs/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/leak-check.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'system',
          maxWorkers: cores,
          sequence: { groupOrder: 4 },
          include: ['test/system/**/*.test.ts'],
          exclude: ['test/system/agents/**', 'test/system/clients/**'],
        },
      },
    ],
  },
});
