/** Compares the order of a queue with a sorted list. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { type ReadyTask, ReadyTasks } from '../../../../machines/fleet/queues/ready-tasks.ts';
import { createRandom } from '../../../support/random.ts';

test('a queue of thousands stays in order while tasks come and go', () => {
  const random = createRandom('ready tasks');
  const int = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  const ready = new ReadyTasks();
  const known = new Map<string, ReadyTask>();
  for (let count = 1; count <= 8_000; count += 1) {
    const task = `T-${int(1, 3_000)}`;
    if (random() < 0.6) {
      const added = { task, priority: int(-2, 2), createdSeq: int(1, 3_000) };
      ready.add(added);
      known.set(task, added);
    } else {
      ready.delete(task);
      known.delete(task);
    }
    if (count % 2_000 !== 0) continue;
    const sorted = [...known.values()].sort(
      (a, b) => b.priority - a.priority || a.createdSeq - b.createdSeq || (a.task < b.task ? -1 : 1),
    );
    expect(ready.size).toBe(sorted.length);
    expect([...ready]).toEqual(sorted);
    expect([...new ReadyTasks(ready)]).toEqual(sorted);
  }
});

test('adding or removing a task moves at most a few hundred others, however long the queue is', () => {
  const { splice } = Array.prototype;
  let longest = 0;
  const spy = vi.spyOn(Array.prototype, 'splice').mockImplementation(function (this: unknown[], ...args) {
    longest = Math.max(longest, this.length);
    return Reflect.apply(splice, this, args);
  });
  onTestFinished(() => spy.mockRestore());
  const ready = new ReadyTasks();
  for (let at = 0; at < 3_000; at += 1) ready.add({ task: `T-${at}`, priority: 0, createdSeq: at });
  for (let at = 0; at < 3_000; at += 2) ready.delete(`T-${at}`);
  expect(ready.size).toBe(1_500);
  expect(longest).toBeLessThanOrEqual(513);
});

test('deleting an unknown task changes nothing', () => {
  const ready = new ReadyTasks([{ task: 'T-1', priority: 0, createdSeq: 1 }]);
  ready.delete('T-2');
  expect([ready.has('T-1'), ready.has('T-2'), ready.size]).toEqual([true, false, 1]);
});
