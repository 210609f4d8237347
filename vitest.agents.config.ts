/** Real agents' command lines against models on loopback. Apart from `npm test`, since it downloads them. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/system/agents/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
