/** Names that a worker or publisher keeps inventing are not kept for ever (docs/protocol.md §2 and §15). */

import { expect, test } from 'vitest';
import { advanceClock, createFleet, type Fleet, foldEntry, viewFleet } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';
import { restoreText, snapshotText } from '../../../support/snapshot-text.ts';

const startMs = Date.parse('2026-03-02T12:00:00.000Z');
const dayMs = 24 * 3_600_000;
const time = (ms: number) => new Date(ms).toISOString();
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

function publish(fleet: Fleet, tail: string, data: object = {}, atMs = fleet.nowMs || startMs): void {
  const entry = entryOf(tail, data);
  foldEntry(fleet, { seq: fleet.seq + 1, atMs, entry });
}

test('a scope is kept while a known worker has reported it', () => {
  const fleet = createFleet('main');
  for (const id of numbers(5_000)) publish(fleet, 'worker.w1.limit.cleared', { scope: `s${id}` });
  expect(fleet.scopes.size).toBe(0);
  publish(fleet, 'worker.w2.limit.reached', { scope: 'account' });
  publish(fleet, 'worker.w2.session.ended');
  expect([...fleet.scopes.keys()]).toEqual(['account']);
  advanceClock(fleet, fleet.nowMs + 8 * dayMs);
  expect(fleet.scopes.size).toBe(0);
});

test('a queue is kept while a known task is in it, or its depth is among the last thousand reported', () => {
  const fleet = createFleet('main');
  publish(fleet, 'task.T-1.task.created', { queue: 'q0' });
  publish(fleet, 'task.T-2.task.created', { queue: 'moved' });
  publish(fleet, 'task.T-2.task.created', { queue: 'main' });
  for (const id of numbers(1_002)) publish(fleet, `queue.q${id}.depth.reported`, { pending: 2 });
  const { queues } = viewFleet(fleet);
  expect(Object.keys(queues)).toHaveLength(1_002);
  expect(queues).toMatchObject({
    q0: { pending: 1, reported: 0 },
    q2: { pending: 2, reported: 2 },
    main: { pending: 1 },
  });
  expect(queues).not.toHaveProperty('q1');
  for (const task of ['T-1', 'T-2']) publish(fleet, `task.${task}.task.cancelled`);
  advanceClock(fleet, fleet.nowMs + 8 * dayMs);
  expect(fleet.queues.has('q0')).toBe(false);
  expect(fleet.queues.size).toBe(1_000);
  expect(restoreText(snapshotText(fleet)).queues.size).toBe(1_000);
});

/** Creates distant deadlines that the next entry makes obsolete, and one of `w2` that stays valid. */
function* hostileDeadlines(): Generator<[string, object]> {
  yield ['own.fleet.main.policy.set', { policies: { default: { persistence: 'persistent' } } }];
  yield ['worker.w2.limit.reached', { until: time(startMs + 90 * dayMs) }];
  for (const id of numbers(2_000)) {
    yield ['worker.w1.limit.reached', { until: time(startMs + 1_000 * dayMs + id) }];
    yield ['worker.w1.limit.reached', { scope: 'account', until: time(startMs + 2_000 * dayMs - id) }];
    yield ['worker.w3.stop.attempted', { attempt: `a${id}`, holdMs: 1_000 * dayMs }];
  }
}

test('removes obsolete deadlines at the same entry, whenever a snapshot is taken', () => {
  const fleet = createFleet('main');
  let restored: Fleet = createFleet('main');
  let most = 0;
  for (const [tail, data] of hostileDeadlines()) {
    for (const it of [fleet, restored]) publish(it, tail, data);
    most = Math.max(most, fleet.deadlines.size);
    if (fleet.seq % 1_499 === 0) restored = restoreText(snapshotText(restored));
  }
  expect(most).toBeLessThan(4_200);
  expect(snapshotText(restored)).toBe(snapshotText(fleet));
  const presence = () => fleet.workers.read('w2')?.snapshot.value.presence;
  advanceClock(fleet, startMs + 90 * dayMs - 1);
  expect(presence()).toBe('limited');
  advanceClock(fleet, startMs + 90 * dayMs);
  expect(presence()).toBe('stale');
  expect(fleet.workers.read('w3')?.snapshot.context.worker.attempt).toMatchObject({ attempt: 'a1999' });
});
