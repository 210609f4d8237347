/** The log position of the decision that completed a task, from which `verify-task` reads it. */
import { expect, test } from 'vitest';
import { createFleet, type Fleet, foldEntry, noteDecision, probe } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';
import { restoreText, snapshotText } from '../../../support/snapshot-text.ts';

type Line = readonly [tail: string, data?: object];
const day = 86_400_000;

/** Folds the lines, one per second. */
function fold(lines: readonly Line[], fleet: Fleet = createFleet('main')): Fleet {
  for (const [tail, data] of lines)
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: fleet.nowMs + 1_000, entry: entryOf(tail, data) });
  return fleet;
}
const work = (task: string, attempt: string): Line[] => [
  ['worker.w1.task.claimed', { task }],
  ['worker.w1.stop.attempted', { attempt }],
];
const judged = (fleet: Fleet, task: string) => fleet.tasks.read(task)?.judged;

test("records the position of a decision that is stored after the worker's next decision", () => {
  const fleet = fold([...work('T-1', 'a1'), ...work('T-2', 'a2')]);
  const restored = restoreText(snapshotText(fleet));
  for (const each of [fleet, restored]) {
    noteDecision(each, 'w1', 'a1', 7);
    noteDecision(each, 'w1', 'a2', 8);
    expect(judged(each, 'T-1')).toEqual({ worker: 'w1', attempt: 'a1', seq: 7 });
    expect(judged(each, 'T-2')).toEqual({ worker: 'w1', attempt: 'a2', seq: 8 });
    expect(each.unplacedDecisions.size).toBe(0);
  }
});

test('records the position after the worker was forgotten, and keeps nothing of a forgotten task', () => {
  const fleet = fold([...work('T-1', 'a1'), ...work('T-2', 'a2'), ['worker.w1.session.ended']]);
  foldEntry(fleet, { seq: 9, atMs: 5 * day, entry: entryOf('task.T-1.hooks.cleared') });
  foldEntry(fleet, { seq: 10, atMs: 8 * day, entry: entryOf('worker.w2.heartbeat.sent') });
  expect([fleet.workers.has('w1'), fleet.tasks.has('T-1'), fleet.tasks.has('T-2')]).toEqual([false, true, false]);
  expect([...fleet.unplacedDecisions.keys()]).toEqual(['w1:a1']);
  noteDecision(fleet, 'w1', 'a1', 11);
  expect(judged(fleet, 'T-1')).toMatchObject({ seq: 11 });
});

test('verify-task judges the steps that a stop judges, and no others', () => {
  const plan = [{ title: 'Write', status: 'pending', step: 's1' }];
  const fleet = fold([
    ['own.fleet.main.policy.set', { policies: { default: { checks: [{ plan: {} }] } } }],
    ['task.T-1.task.created', { plan }],
    ['worker.w1.task.claimed', { task: 'T-1' }],
    ['worker.w1.step.updated', { step: 's1', status: 'deleted' }],
  ]);
  for (const scope of ['stop', 'work', { task: 'T-1' }] as const)
    expect(probe(fleet, 'w1', {}, fleet.nowMs, scope)).toMatchObject({ decision: { cause: 'complete' } });
});
