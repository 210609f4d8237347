/** The tests that Stryker runs over a mutated file: no I/O, and no logs that are drawn at random. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,conformance}/**/*.test.ts'],
    // The first ones look at sources and pages. The last ones fold so many logs that a mutation would take minutes.
    exclude: [
      'test/unit/{bench,docs,inspector}/**',
      'test/unit/house.test.ts',
      'test/unit/machines/**/*{baseline,bounds,hostile,property}*',
    ],
    setupFiles: ['test/support/property-seed.ts'],
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
