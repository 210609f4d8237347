/**
 * Choices that differ from run to run. vitest.config.ts makes a seed and prints it; STOPGATE_TEST_SEED repeats its
 * choices, and STOPGATE_TEST_ALL=1 leaves none: the nightly run takes everything where others take a sample.
 */
import { createHash } from 'node:crypto';
import { readEnvironment } from '../../src/config/environment.ts';

const { STOPGATE_TEST_SEED: seed = '0', STOPGATE_TEST_ALL: all } = readEnvironment();

export const takesAll = all === '1';

/** Numbers from 0 to 1 (never 1), the same for the same seed and `purpose`. */
export function createRandom(purpose: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    return createHash('sha256').update(`${seed} ${purpose} ${count}`).digest().readUInt32BE() / 2 ** 32;
  };
}

/** One of `every` of them, in their order, or all of them. */
export function sample<Item>(items: Iterable<Item>, every: number, purpose: string): Item[] {
  const random = createRandom(purpose);
  return [...items].filter(() => takesAll || random() < 1 / every);
}
