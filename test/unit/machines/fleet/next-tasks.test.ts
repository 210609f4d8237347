/** Tasks that are ready for a worker that asks for the next one. */

import { expect, test } from 'vitest';
import { createFleet, firstReady, foldEntry, isReady } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

test('a task is ready if it is in a queue, unclaimed, and after no open task', () => {
  const fleet = createFleet('main');
  const fold = (tail: string, data: object) => {
    const entry = entryOf(tail, data);
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: fleet.seq, entry });
  };
  const ready = () => ['T-1', 'T-2', 'T-3', 'T-4'].filter((task) => isReady(fleet, task));
  fold('task.T-1.task.created', { queue: 'build' });
  fold('task.T-2.task.created', { queue: 'build', after: ['T-1'] });
  fold('task.T-3.hook.registered', { type: 'promise' });
  expect(ready()).toEqual(['T-1']);
  expect(firstReady(fleet, 'build', new Set())).toBe('T-1');
  expect(firstReady(fleet, 'build', new Set(['T-1']))).toBeNull();
  fold('worker.w1.task.claimed', { task: 'T-1' });
  expect(ready()).toEqual([]);
  fold('worker.w1.task.completed', { task: 'T-1' });
  expect(ready()).toEqual(['T-2']);
});
