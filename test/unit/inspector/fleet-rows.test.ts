/** What the page gets of a whole fleet. */
import { expect, test } from 'vitest';
import { createFleet, type Entry, foldEntry, readEntry } from '../../../machines/index.ts';
import { wholeOf } from '../../../src/inspector/fleet-rows.ts';

test('a queue has the tasks that are known, and what was reported of those that are elsewhere', () => {
  const fleet = createFleet('main');
  for (const [tail, data] of [
    ['task.T-1.task.created', '{"queue":"q"}'],
    ['queue.q.depth.reported', '{"pending":3}'],
  ] as const) {
    const entry = readEntry(`stopgate.main.${tail}`, data, data.length) as Entry;
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000, entry, owner: null });
  }
  // 4 wait: one that is known, 3 elsewhere.
  expect(wholeOf(fleet).queues).toContainEqual(['q', 4, 3]);
});
