/** Pauses grow while turns end immediately, and end after a turn that did some work. */
import { expect, test } from 'vitest';
import { createTurnPauses } from '../../../src/agents/shared/turn-pauses.ts';

const pausesOf = (firstMs: number, ...turnsMs: readonly number[]) => {
  const pauses = createTurnPauses(firstMs);
  return turnsMs.map((ms) => pauses.after(ms));
};

test('pauses double up to 30 s and restart after a longer turn', () => {
  expect(pausesOf(500, 5, 5, 999, 5, 5, 5, 5, 5, 5)).toEqual([500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]);
  expect(pausesOf(500, 5, 5, 1000, 5)).toEqual([500, 1000, 0, 500]);
});

test('a longer first pause is kept and applies to turns shorter than itself; 0 disables pauses', () => {
  expect(pausesOf(60_000, 59_999, 5, 60_000)).toEqual([60_000, 60_000, 0]);
  expect(pausesOf(0, 5, 5)).toEqual([0, 0]);
});
