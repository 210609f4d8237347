/** Real agents' command lines against models on loopback. Apart from `npm test`, since it downloads them. */
import { defineConfig } from 'vitest/config';
import { preferCurrentServer } from './test/support/nats-path.ts';
import { reporters } from './test/support/summary-reporter.ts';

await preferCurrentServer(process.env);

export default defineConfig({
  test: {
    include: ['test/system/agents/**/*.test.ts'],
    pool: 'forks',
    reporters,
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 300_000, // one installs an agent
    expect: { poll: { timeout: 60_000 } },
  },
});
