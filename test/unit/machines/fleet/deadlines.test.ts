/** The heap of deadlines. */
import { expect, test } from 'vitest';
import { createDeadlines } from '../../../../machines/fleet/time/deadlines.ts';

test('deadlines come in order of time, then kind, then id', () => {
  const deadlines = createDeadlines();
  const given = [
    { atMs: 5, kind: 'stale', id: 'a' },
    { atMs: 5, kind: 'attempt', id: 'b' },
    { atMs: 1, kind: 'limit', id: 'z' },
    { atMs: 5, kind: 'attempt', id: 'a' },
    { atMs: 3, kind: 'stale', id: 'c' },
  ] as const;
  for (const deadline of given) deadlines.push({ ...deadline, attempt: '' });
  const order = given
    .map(() => deadlines.pop())
    .map((deadline) => `${deadline?.atMs} ${deadline?.kind} ${deadline?.id}`);
  expect(order).toEqual(['1 limit z', '3 stale c', '5 attempt a', '5 attempt b', '5 stale a']);
  expect(deadlines.size).toBe(0);
});

test('deadlines of equal time and kind come in the order of their ids', () => {
  for (const ids of ['abcd', 'dcba', 'bdac', 'cadb', 'dbca']) {
    const deadlines = createDeadlines();
    for (const id of ids) deadlines.push({ atMs: 5, kind: 'stale', id, attempt: '' });
    expect([...ids].map(() => deadlines.pop()?.id).join('')).toBe('abcd');
  }
});
