/** The inbox: items that wait for a person, and lists that do not move while someone points at them. */
import { expect, test } from 'vitest';
import { createFleetStore } from '../../../src/inspector/client/data/fleet-store.ts';
import {
  describeGone,
  findWaiting,
  noteOnWorker,
  tasksShownWith,
} from '../../../src/inspector/client/inbox/find-waiting.ts';
import { isTracked, noteStored, trackActions, untrackShown } from '../../../src/inspector/client/operator/settle.ts';
import { isMovedByKeepOne, keepOne, keepOrder } from '../../../src/inspector/client/ui/keep-order.ts';
import { type TaskRow, taskRows, type WorkerRow, workerRows } from '../../../src/inspector/rows.ts';

function storeOf(
  /** `escalatedMs`: when the open escalation began, or null. */
  workers: [id: string, state: WorkerRow['state'], escalatedMs: number | null, more?: Partial<WorkerRow>][],
  tasks: [id: string, with_: string | null][],
) {
  const store = createFleetStore();
  const worker = ([id, state, escalatedMs, more]: (typeof workers)[number]): Partial<WorkerRow> => ({
    id,
    state,
    presence: 'active',
    tasksHeld: 0,
    isAcknowledged: false,
    sentence: 'why?',
    sinceMs: 8,
    escalatedFor: escalatedMs === null ? null : 'escalated',
    personSinceMs: escalatedMs,
    awaitsInput: false,
    askUntilMs: null,
    ...more,
  });
  const task = ([id, escalatedWith]: (typeof tasks)[number]): Partial<TaskRow> => ({
    id,
    state: 'escalated',
    queue: 'main',
    hooks: 0,
    sentence: 'why?',
    sinceMs: 7,
    escalatedSinceMs: 7,
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

const nowMs = 9;
const waitingIn = (...rows: Parameters<typeof storeOf>) => findWaiting(storeOf(...rows), nowMs).map(({ id }) => id);

test('a task shares an item with the worker it was escalated with, and with no other', () => {
  expect(waitingIn([['ana', 'escalated', 7]], [['T-1', 'ana']])).toEqual(['ana']);
  // An equal time and text must not hide it.
  expect(waitingIn([['ana', 'escalated', 7]], [['T-1', null]])).toEqual(['ana', 'T-1']);
  expect(waitingIn([['ana', 'escalated', 7]], [['T-1', 'bob']])).toEqual(['ana', 'T-1']);
});

test('a task is a separate item once its worker was resolved, even if that is escalated again', () => {
  expect(waitingIn([['ana', 'idle', null]], [['T-1', 'ana']])).toEqual(['T-1']);
  expect(waitingIn([['ana', 'escalated', 8]], [['T-1', 'ana']])).toEqual(['ana', 'T-1']);
});

test('the nearest deadline comes first, then the agents, then the tasks; acknowledged ones end their kind', () => {
  const asks = (askUntilMs: number): Partial<WorkerRow> => ({ awaitsInput: true, askUntilMs });
  const order = waitingIn(
    [
      ['long', 'escalated', 1],
      ['seen', 'escalated', 0, { isAcknowledged: true }],
      ['over', 'working', 2, asks(nowMs)],
      ['later', 'working', 3, asks(nowMs + 20)],
      ['soon', 'working', 4, asks(nowMs + 10)],
    ],
    [['T-1', null]],
  );
  expect(order).toEqual(['soon', 'later', 'long', 'over', 'seen', 'T-1']);
});

// Root cause: the times of the states were compared, and a further attempt moves an escalated worker.
test('a worker that tries to stop again stays escalated with its task, in one item', () => {
  for (const state of ['escalated', 'validating'] as const) {
    const store = storeOf([['ana', state, 7]], [['T-1', 'ana']]);
    expect(findWaiting(store, nowMs).map(({ id }) => id)).toEqual(['ana']);
    expect(tasksShownWith(store, new Set(['ana']))).toEqual([{ id: 'T-1', worker: 'ana' }]);
  }
});

test('a left-over task says what became of its worker', () => {
  const noteIn = (...rows: Parameters<typeof storeOf>) => {
    const store = storeOf(...rows);
    return noteOnWorker(store, store.tasks.get('T-1') ?? expect.unreachable());
  };
  expect(noteIn([['ana', 'idle', null]], [['T-1', 'ana']])).toBe('Escalated with ana, which no longer waits');
  expect(noteIn([['ana', 'escalated', 8]], [['T-1', 'ana']])).toBe(
    'Escalated with ana, which waits for something else now',
  );
  expect(noteIn([], [['T-1', null]])).toBeNull();
});

test('an item that is gone says why', () => {
  expect(describeGone({ isAnswered: false, isSnoozed: true })).toBe('snoozed');
  expect(describeGone({ isAnswered: true, isSnoozed: false })).toBe('answered');
  expect(describeGone({ isAnswered: false, isSnoozed: false })).toBe('no longer waiting');
});

test('the answer to a worker asks only about tasks that share its item', () => {
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
  // From an earlier escalation, so it has its own card.
  expect(tasksWith(8, 'ana', 'bob').map(({ id }) => id)).toEqual(['T-2']);
});

test('tracks an action of this page until its effect was shown, even if nothing changed', () => {
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

test('a held list keeps gone items in place and appends new ones', () => {
  expect(text(keepOrder(shown('abc'), ['d', 'c', 'a']))).toBe('a,-b,c,d');
  expect(text(keepOrder(keepOrder(shown('abc'), ['c']), ['b', 'c']))).toBe('-a,b,c');
});

test('a list that is not held keeps only the open item', () => {
  expect(text(keepOne(shown('abc'), ['c', 'd'], 'b'))).toBe('-b,c,d');
  expect(text(keepOne(shown('abc'), ['a'], 'c'))).toBe('a,-c');
  expect(text(keepOne(shown('abc'), ['a'], null))).toBe('a');
  expect(text(keepOne(shown('abc'), ['c', 'b'], 'b'))).toBe('c,b');
});

test('offers to sort again only if that would move something', () => {
  const held = keepOrder(shown('abc'), ['c', 'b', 'd']);
  expect(isMovedByKeepOne(held, ['c', 'b', 'd'], 'a')).toBe(true);
  const sorted = keepOne(held, ['c', 'b', 'd'], 'a');
  expect(text(sorted)).toBe('c,-a,b,d');
  expect(isMovedByKeepOne(sorted, ['c', 'b', 'd'], 'a')).toBe(false);
  expect(isMovedByKeepOne(sorted, ['c', 'b', 'd'], 'b')).toBe(true);
});
