/**
 * Random choices that differ from run to run. vitest.config.ts creates and prints a seed; STOPGATE_TEST_SEED repeats
 * it. With STOPGATE_TEST_ALL=1 (the nightly run) samples contain everything.
 */
import { createHash } from 'node:crypto';
import { readEnvironment } from '../../src/config/environment.ts';

const { STOPGATE_TEST_SEED: seed = '0', STOPGATE_TEST_ALL: all } = readEnvironment();

export const takesAll = all === '1';

/** A generator of numbers in [0, 1), determined by the seed and `purpose`. */
export function createRandom(purpose: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    return createHash('sha256').update(`${seed} ${purpose} ${count}`).digest().readUInt32BE() / 2 ** 32;
  };
}

/** Keeps each item with probability 1/`every`, or all items with STOPGATE_TEST_ALL. */
export function sample<Item>(items: Iterable<Item>, every: number, purpose: string): Item[] {
  const random = createRandom(purpose);
  return [...items].filter(() => takesAll || random() < 1 / every);
}
