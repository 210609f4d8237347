/** The moves of the last ten minutes, as a page gets them that opens now. */
import { expect, test } from 'vitest';
import { createRecentMoves } from '../../../src/inspector/live/changes.ts';

const minute = 60_000;

test('counts each transition by its minute, and leaves out what changed no state', () => {
  const moves = createRecentMoves(0);
  moves.add(minute, 'w', 'idle', 'working', 'prompt.submitted');
  moves.add(minute + 1, 'w', 'idle', 'working', 'prompt.submitted');
  moves.add(minute + 2, 'w', 'working', 'working', 'tool.used');
  moves.add(3 * minute, 't', 'blocked', 'stopped', 'attempt.closed');
  expect(moves.take(4 * minute)).toEqual({
    sinceMs: 0,
    minutes: [
      [minute, [['w', 0, 1, 'prompt.submitted', 2]]],
      [3 * minute, [['t', 3, 5, 'attempt.closed', 1]]],
    ],
  });
});

test('forgets what is older than ten minutes', () => {
  const moves = createRecentMoves(minute);
  for (let at = 1; at <= 20; at += 1) moves.add(at * minute, 'w', 'idle', 'working', 'prompt.submitted');
  const { sinceMs, minutes } = moves.take(21 * minute);
  expect(sinceMs).toBe(11 * minute);
  expect(minutes.map(([at]) => at / minute)).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
});
