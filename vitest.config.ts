/** Three tiers, by what a test needs; `npm test` runs the first two. */
import { availableParallelism } from 'node:os';
import { defineConfig, type TestUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Each project loads this file again, and its workers inherit the environment.
if (process.env.STOPGATE_TEST_SEED === undefined) {
  process.env.STOPGATE_TEST_SEED = String(Math.floor(Math.random() * 2 ** 31));
  process.stderr.write(`random choices: STOPGATE_TEST_SEED=${process.env.STOPGATE_TEST_SEED} repeats them\n`);
}

// Debian puts nats-server where only root's PATH leads.
process.env.PATH = `${process.env.PATH}:/usr/sbin`;

const shared: TestUserConfig = {
  // A busy machine takes its time; what never comes fails all the same. Tests name no shorter times of their own.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
};

/** These take longest. They begin first, also in a fresh clone, which has no durations of an earlier run. */
const longest = [
  ...['system/faults/faults', 'system/kill/replicas', 'system/packages', 'system/commands', 'system/page/many'],
  ...['system/personas/laptop', 'system/page/access', 'system/page/shared-stream', 'system/rolling-upgrade'],
  ...['unit/machines/fleet/snapshot', 'integration/service/membership', 'integration/simulation/simulation'],
  ...['integration/app/flood', 'integration/nats/embedded-server', 'integration/inspector/service-report'],
  ...['integration/acp/ends', 'integration/client/decide', 'integration/inspector/history', 'seeds/seeds'],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const place = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((it) => moduleId.endsWith(`/test/${it}.test.ts`));
      return at < 0 ? longest.length : at;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    passWithNoTests: false,
    // What was compiled is kept: a quarter of the CPU of unit tests.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    // Most of them wait for servers and processes: two to a core keep the processor busy. The projects do not extend this,
    // so that `--maxWorkers` holds for them.
    maxWorkers: 2 * availableParallelism(),
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/{unit,conformance}/**/*.test.ts'],
          setupFiles: ['test/support/leak-check.ts', 'test/support/property-seed.ts'],
          isolate: false,
        },
      },
      {
        test: {
          ...shared,
          name: 'integration',
          include: ['test/{integration,seeds}/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/leak-check.ts'],
          isolate: false,
        },
      },
      {
        test: {
          ...shared,
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          exclude: ['test/system/agents/**', 'test/system/clients/**'],
          isolate: false,
        },
      },
    ],
  },
});
