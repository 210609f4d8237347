import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** `toEqual` for loops: it takes several times as long as Node's comparison, so it is only asked about what differs. */
export function expectEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, message).toEqual(expected);
}
