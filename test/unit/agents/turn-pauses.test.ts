/** A command that ends at once is not run again at once: the pauses grow, and end with a turn that did something. */
import { expect, test } from 'vitest';
import { createTurnPauses } from '../../../src/agents/shared/turn-pauses.ts';

const pausesOf = (firstMs: number, ...turnsMs: readonly number[]) => {
  const pauses = createTurnPauses(firstMs);
  return turnsMs.map((ms) => pauses.after(ms));
};

test('pauses are doubled up to 30 s, and begin again after a longer turn', () => {
  expect(pausesOf(500, 5, 5, 999, 5, 5, 5, 5, 5, 5)).toEqual([500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]);
  expect(pausesOf(500, 5, 5, 1000, 5)).toEqual([500, 1000, 0, 500]);
});

test('a longer first pause stays, and counts turns that are shorter than itself; 0 is none', () => {
  expect(pausesOf(60_000, 59_999, 5, 60_000)).toEqual([60_000, 60_000, 0]);
  expect(pausesOf(0, 5, 5)).toEqual([0, 0]);
});
