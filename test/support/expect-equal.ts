import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** A fast `toEqual` for loops: uses Node's comparison first, which is several times faster. */
export function expectEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, message).toEqual(expected);
}
