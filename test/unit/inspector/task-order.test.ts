/** The page lists the tasks of a queue in the order in which they are claimed, and others by how long they wait. */
import { expect, test } from 'vitest';
import type { State } from '../../../machines/index.ts';
import { queueOrder, taskUrgencyOf } from '../../../src/inspector/client/data/rows.ts';
import type { TaskRow } from '../../../src/inspector/rows.ts';

type Ordered = Pick<TaskRow, 'id' | 'state' | 'priority' | 'createdSeq'>;
const row = (id: string, state: State, priority: number, createdSeq: number): Ordered => ({
  id,
  state,
  priority,
  createdSeq,
});
const inOrder = (...rows: Ordered[]) => rows.sort(queueOrder).map(({ id }) => id);

test('waiting tasks are sorted by priority, then by age', () => {
  const waiting = [
    row('T-1', 'idle', 0, 4),
    row('T-2', 'idle', 5, 9),
    row('T-3', 'idle', -1, 1),
    row('T-9', 'idle', 0, 2),
  ];
  expect(inOrder(...waiting)).toEqual(['T-2', 'T-9', 'T-1', 'T-3']);
});

test('the priority of other tasks does not matter', () => {
  expect(inOrder(row('T-4', 'working', 0, 9), row('T-5', 'working', 3, 8))).toEqual(['T-4', 'T-5']);
});

test('escalated tasks come first, the longest wait first; stopped ones last, the latest first', () => {
  const tasks = [
    { id: 'new', state: 'escalated', sinceMs: 9_000 },
    { id: 'done', state: 'stopped', sinceMs: 1_000 },
    { id: 'just done', state: 'stopped', sinceMs: 8_000 },
    { id: 'held', state: 'working', sinceMs: 10 },
    { id: 'old', state: 'escalated', sinceMs: 2_000 },
  ] as const;
  const ids = [...tasks].sort((a, b) => taskUrgencyOf(a) - taskUrgencyOf(b)).map(({ id }) => id);
  expect(ids).toEqual(['old', 'new', 'held', 'just done', 'done']);
});
