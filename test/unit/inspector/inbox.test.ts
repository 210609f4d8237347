/** The inbox: who waits for a person, and lists that hold still while somebody points at them. */
import { expect, test } from 'vitest';
import { createFleetStore } from '../../../src/inspector/client/data/fleet-store.ts';
import { findWaiting, tasksShownWith } from '../../../src/inspector/client/inbox/find-waiting.ts';
import { untrackShown, isTracked, trackActions, noteStored } from '../../../src/inspector/client/operator/settle.ts';
import { isMovedByKeepOne, keepOne, keepOrder } from '../../../src/inspector/client/ui/keep-order.ts';
import { type TaskRow, taskRows, type WorkerRow, workerRows } from '../../../src/inspector/rows.ts';

function storeOf(
  workers: [id: string, state: WorkerRow['state'], sinceMs: number][],
  tasks: [id: string, with_: string | null][],
) {
  const store = createFleetStore();
  const worker = ([id, state, sinceMs]: (typeof workers)[number]): Partial<WorkerRow> => ({
    id,
    state,
    presence: 'active',
    tasksHeld: 0,
    isAcknowledged: false,
    sentence: 'why?',
    stateSinceMs: sinceMs,
    awaitsInput: false,
  });
  const task = ([id, escalatedWith]: (typeof tasks)[number]): Partial<TaskRow> => ({
    id,
    state: 'escalated',
    queue: 'main',
    hooks: 0,
    sentence: 'why?',
    stateSinceMs: 7,
    escalatedWith,
    priority: 0,
    createdSeq: 1,
  });
  const rows = {
    workers: workers.map((fields) => workerRows.pack(worker(fields) as WorkerRow)),
    tasks: tasks.map((fields) => taskRows.pack(task(fields) as TaskRow)),
    queues: [],
  };
  store.apply({ ...rows, seq: 1, nowMs: 9, headSeq: 1, fault: null, outage: null, entries: 1 }, false);
  return store;
}

const waitingIn = (...rows: Parameters<typeof storeOf>) => findWaiting(storeOf(...rows)).map(({ id }) => id);

test('a task is one item with the worker that it was escalated with, and with no other', () => {
  expect(waitingIn([['ana', 'escalated', 7]], [['T-1', 'ana']])).toEqual(['ana']);
  // The same millisecond and the same words are no reason to hide it.
  expect(waitingIn([['ana', 'escalated', 7]], [['T-1', null]])).toEqual(['ana', 'T-1']);
  expect(waitingIn([['ana', 'escalated', 7]], [['T-1', 'bob']])).toEqual(['ana', 'T-1']);
});

test('it is an item of its own once the worker was resolved, also when that is escalated again', () => {
  expect(waitingIn([['ana', 'idle', 8]], [['T-1', 'ana']])).toEqual(['T-1']);
  expect(waitingIn([['ana', 'escalated', 8]], [['T-1', 'ana']])).toEqual(['T-1', 'ana']);
});

test('the answer to a worker asks about the tasks that are one item with it, and about no other', () => {
  const tasks: Parameters<typeof storeOf>[1] = [
    ['T-1', 'ana'],
    ['T-2', 'bob'],
    ['T-3', null],
  ];
  const tasksWith = (anaSinceMs: number, ...ids: string[]) => {
    const workers: Parameters<typeof storeOf>[0] = [
      ['ana', 'escalated', anaSinceMs],
      ['bob', 'escalated', 7],
    ];
    return tasksShownWith(storeOf(workers, tasks), new Set(ids));
  };
  expect(tasksWith(7, 'ana')).toEqual([{ id: 'T-1', worker: 'ana' }]);
  expect(tasksWith(7, 'ana', 'bob').map(({ id }) => id)).toEqual(['T-1', 'T-2']);
  // Of an escalation before: it has a card of its own.
  expect(tasksWith(8, 'ana', 'bob').map(({ id }) => id)).toEqual(['T-2']);
});

test('what this page acted on is its own until the effect was shown, also if that changed nothing', () => {
  const isOurBob = () => isTracked('worker/bob');
  trackActions([{ entity: 'worker', id: 'bob' }]);
  untrackShown(11);
  expect(isOurBob()).toBe(true);
  noteStored('worker/bob', 12);
  untrackShown(11);
  expect(isOurBob()).toBe(true);
  untrackShown(12);
  expect(isOurBob()).toBe(false);
  noteStored('worker/bob', 13);
  expect(isOurBob()).toBe(false);
});

const text = (order: ReturnType<typeof keepOrder>) => order.map(({ key, isGone }) => (isGone ? `-${key}` : key)).join();
const shown = (keys: string) => keepOrder([], [...keys]);

test('a list that holds still keeps the places of what is gone, and adds what is new at its end', () => {
  expect(text(keepOrder(shown('abc'), ['d', 'c', 'a']))).toBe('a,-b,c,d');
  expect(text(keepOrder(keepOrder(shown('abc'), ['c']), ['b', 'c']))).toBe('-a,b,c');
});

test('one that does not keeps only the one that is open', () => {
  expect(text(keepOne(shown('abc'), ['c', 'd'], 'b'))).toBe('-b,c,d');
  expect(text(keepOne(shown('abc'), ['a'], 'c'))).toBe('a,-c');
  expect(text(keepOne(shown('abc'), ['a'], null))).toBe('a');
  expect(text(keepOne(shown('abc'), ['c', 'b'], 'b'))).toBe('c,b');
});

test('to sort again is offered only while that would move something', () => {
  const held = keepOrder(shown('abc'), ['c', 'b', 'd']);
  expect(isMovedByKeepOne(held, ['c', 'b', 'd'], 'a')).toBe(true);
  const sorted = keepOne(held, ['c', 'b', 'd'], 'a');
  expect(text(sorted)).toBe('c,-a,b,d');
  expect(isMovedByKeepOne(sorted, ['c', 'b', 'd'], 'a')).toBe(false);
  expect(isMovedByKeepOne(sorted, ['c', 'b', 'd'], 'b')).toBe(true);
});
