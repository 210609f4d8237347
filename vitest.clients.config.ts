/** Clients in other languages, against the shipped service. Apart from `npm test`, since they take Python, Go and registries. */
import { defineConfig } from 'vitest/config';
import { preferCurrentServer } from './test/support/nats-path.ts';
import { reporters } from './test/support/summary-reporter.ts';

await preferCurrentServer(process.env);

export default defineConfig({
  test: {
    include: ['test/system/clients/**/*.test.ts'],
    pool: 'forks',
    reporters,
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
