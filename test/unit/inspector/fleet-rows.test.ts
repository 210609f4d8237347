/** The rows that the page receives for the fleet. */

import { expect, test } from 'vitest';
import { createFleet, type Entry, foldEntry, readEntry, viewTask } from '../../../machines/index.ts';
import { allRows } from '../../../src/inspector/fleet-rows.ts';
import { queueRows, taskRows, workerRows } from '../../../src/inspector/rows.ts';
import { entryOf } from '../../support/fold-lines.ts';

test('a queue counts known tasks and those reported from elsewhere', () => {
  const fleet = createFleet('main');
  for (const [tail, data] of [
    ['task.T-1.task.created', '{"queue":"q"}'],
    ['queue.q.depth.reported', '{"pending":3}'],
  ] as const) {
    const entry = readEntry(`stopgate.main.${tail}`, data, data.length) as Entry;
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000, entry, owner: null });
  }
  // 4 wait: one known task and 3 elsewhere.
  expect(allRows(fleet).queues.map(queueRows.unpack)).toContainEqual({
    id: 'q',
    pending: 4,
    reported: 3,
    workers: 0,
    unattendedMs: null,
    acknowledgedBy: null,
  });
});

test('the row of a worker says what failed, even at the cap, and what it asks', () => {
  const fleet = createFleet('main');
  for (const [tail, data] of [
    ['own.fleet.main.policy.set', { policies: { default: { checks: [{ plan: {} }], retries: 0 } } }],
    ['worker.capped.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] }],
    ['worker.capped.stop.attempted', { attempt: 'a1' }],
    ['worker.asks.input.requested', { kind: 'permission', tool: 'Bash', detail: 'make deploy' }],
  ] as const) {
    const entry = entryOf(tail, data);
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000, entry, owner: null });
  }
  const sentences = Object.fromEntries(
    allRows(fleet)
      .workers.map(workerRows.unpack)
      .map(({ id, sentence }) => [id, sentence]),
  );
  expect(sentences).toEqual({
    capped: 'Allowed after no block: 1 of 1 plan steps remain: Write tests',
    asks: 'Asks: Bash: make deploy',
  });
});

test('rows show the usage of a session and a task', () => {
  const fleet = createFleet('main');
  for (const [tail, data] of [
    ['worker.w1.usage.reported', { usd: 0.5, input: 10, cacheRead: 7 }],
    ['worker.w1.task.claimed', { task: 'T-1' }],
    ['worker.w1.usage.reported', { usd: 0.25, output: 3 }],
  ] as const) {
    const entry = entryOf(tail, data);
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000, entry, owner: null });
  }
  const { workers, tasks } = allRows(fleet);
  expect(workers.map(workerRows.unpack)).toMatchObject([{ id: 'w1', usd: 0.75, tokens: 13 }]);
  expect(tasks.map(taskRows.unpack)).toMatchObject([{ id: 'T-1', usd: 0.25, tokens: 3 }]);
});

test('ages begin where they say: at the claim, the creation, the escalation, not at the last entry or attempt', () => {
  const fleet = createFleet('main');
  const question = { output: 'Which key? <promise>ESCALATE</promise>' };
  for (const [index, [tail, data]] of (
    [
      ['own.fleet.main.policy.set', { policies: { default: { promises: true, checks: [{ plan: {} }] } } }],
      ['task.new.task.created', {}],
      ['worker.quiet.worker.registered', {}],
      ['worker.busy.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] }],
      ['worker.busy.task.claimed', { task: 'held' }],
      ['worker.asks.stop.attempted', { attempt: 'a1', ...question }],
      // Later entries of each move no age.
      ['task.new.hook.registered', { hook: 'h1', type: 'remote', name: 'review' }],
      ['worker.quiet.heartbeat.sent', {}],
      ['worker.busy.stop.attempted', { attempt: 'a1' }],
      ['worker.asks.stop.attempted', { attempt: 'a2', ...question }],
    ] as const
  ).entries()) {
    foldEntry(fleet, { seq: index, atMs: 1_000 * index, entry: entryOf(tail, data), owner: null });
  }
  const { workers, tasks } = allRows(fleet);
  const worker = Object.fromEntries(workers.map(workerRows.unpack).map((row) => [row.id, row]));
  const task = Object.fromEntries(tasks.map(taskRows.unpack).map((row) => [row.id, row]));
  expect(worker.quiet).toMatchObject({ state: 'idle', sinceMs: 2_000 });
  expect(worker.asks).toMatchObject({ state: 'escalated', sinceMs: 5_000, escalatedFor: 'escalated' });
  expect(task.new).toMatchObject({ state: 'idle', sinceMs: 1_000, heldSinceMs: null });
  expect(task.held).toMatchObject({ state: 'blocked', sinceMs: 8_000, heldSinceMs: 4_000 });
  expect(viewTask(fleet, 'held')?.standing.waits).toMatchObject([
    { kind: 'worker', since: '1970-01-01T00:00:04.000Z' },
  ]);
});

test('a row survives packing and unpacking, and is sent without field names', () => {
  const fleet = createFleet('main');
  for (const [tail, data] of [
    ['own.fleet.main.policy.set', { policies: { default: { checks: [{ plan: {} }] } } }],
    ['worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] }],
    ['worker.w1.stop.attempted', { attempt: 'a1' }],
    ['worker.asks.input.requested', { kind: 'permission', tool: 'Bash', detail: 'make deploy' }],
  ] as const) {
    const entry = entryOf(tail, data);
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000, entry, owner: null });
  }
  const { workers, last } = allRows(fleet);
  const rows = (JSON.parse(JSON.stringify(workers)) as typeof workers).map(workerRows.unpack);
  expect(rows).toMatchObject([
    { id: 'w1', state: 'blocked', presence: 'active', planTotal: 1, awaitsInput: false, isAcknowledged: false },
    { id: 'asks', state: 'idle', presence: 'active', planTotal: 0, awaitsInput: true, isWaiting: false },
  ]);
  expect(rows.map(workerRows.pack)).toEqual(workers);
  expect(workers.flat()).not.toContain('blocked');
  expect(last).toEqual({
    worker: { machine: 'worker', from: 'working', to: 'blocked', event: 'stop.attempted', count: 1 },
    task: null,
  });
});
