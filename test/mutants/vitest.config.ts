/**
 * The quick tests over a source with one mutation: `npm run test:mutants` starts vitest with this once for each. The file on
 * disk stays as it is.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { readEnvironment } from '../../src/config/environment.ts';
import { type Mutation, mutate } from './mutations.ts';

const root = resolve(import.meta.dirname, '../..');
/** Null: the program as it is. */
const mutation: Mutation | null = JSON.parse(readEnvironment().STOPGATE_MUTATION ?? 'null');
const path = mutation === null ? null : join(root, mutation.file);

/** Those first that are likely to notice, so that most mutants die early: the mirror of the folder, then the cases. */
class NearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const folder = join(root, 'test/unit', (mutation?.file ?? '').replace(/^src\//, '').replace(/[^/]*$/, ''));
    const rankOf = ({ moduleId }: TestSpecification) =>
      moduleId.startsWith(folder) ? 0 : moduleId.includes('/test/conformance/') ? 1 : slow.test(moduleId) ? 3 : 2;
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}
const slow = /property|baseline|hostile|bounds/;

export default defineConfig({
  root,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      load: (id) => (mutation !== null && id === path ? mutate(readFileSync(id, 'utf8'), mutation) : null),
    },
  ],
  test: {
    include: ['test/{unit,conformance}/**/*.test.ts'],
    // They look at the sources and the pages, and not at what the program does.
    exclude: ['test/unit/house.test.ts', 'test/unit/docs/**', 'test/unit/bench/**'],
    setupFiles: ['test/support/leak-check.ts', 'test/support/property-seed.ts'],
    isolate: false,
    maxWorkers: 1,
    testTimeout: 60_000,
    bail: 1,
    sequence: { sequencer: NearestFirst },
  },
});
