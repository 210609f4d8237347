/** The fold counts only the notice of an escalation that is due. */

import { expect, test } from 'vitest';
import {
  createFleet,
  type EscalatedEntity,
  type Fleet,
  foldEntry,
  nextDelivery,
  viewTask,
  viewWorker,
} from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

const startMs = Date.parse('2026-03-02T12:00:00.000Z');

function foldLines(lines: readonly (readonly [tail: string, data: object])[], fleet = createFleet('main')): Fleet {
  for (const [tail, data] of lines) {
    const entry = entryOf(tail, data);
    const seq = fleet.seq + 1;
    foldEntry(fleet, { seq, atMs: startMs + seq, entry });
  }
  return fleet;
}

const promises = ['own.fleet.main.policy.set', { policies: { default: { promises: true } } }] as const;
const gaveUp = ['worker.w1.stop.attempted', { attempt: 'a1', output: '<promise>BLOCKED</promise>' }] as const;
const failed = [
  ['worker.w1.task.claimed', { task: 'T-1' }],
  ['worker.w1.task.failed', { task: 'T-1' }],
] as const;

const escalationOf = (fleet: Fleet, entity: EscalatedEntity, id: string) =>
  (entity === 'worker' ? viewWorker(fleet, id, fleet.nowMs) : viewTask(fleet, id))?.escalation ?? null;

test.each([
  { entity: 'worker', id: 'w1', lines: [promises, gaveUp] },
  { entity: 'task', id: 'T-1', lines: failed },
] as const)('a notice of an escalated $entity counts once, and only under its own name', ({ entity, id, lines }) => {
  const fleet = foldLines(lines);
  const deliveryNow = () => {
    const escalation = escalationOf(fleet, entity, id);
    if (escalation === null) throw new Error('not escalated');
    return nextDelivery('main', entity, id, escalation);
  };
  const notified = (delivery: string) => [`own.${entity}.${id}.escalation.notified`, { count: 1, delivery }] as const;
  const first = deliveryNow();
  foldLines([notified('another'), notified(first), notified(first)], fleet);
  expect(escalationOf(fleet, entity, id)).toMatchObject({ notified: 1, notifiedAt: '2026-03-02T12:00:00.004Z' });
  const second = deliveryNow();
  expect(second).not.toBe(first);
  foldLines([notified(second)], fleet);
  expect(escalationOf(fleet, entity, id)).toMatchObject({ notified: 2 });
});

test('a late notice changes nothing', () => {
  const fleet = foldLines([promises, gaveUp, ['worker.w1.prompt.submitted', {}]]);
  foldLines([['own.worker.w1.escalation.notified', { count: 1, delivery: 'main/worker/w1/2/x/1' }]], fleet);
  expect(viewWorker(fleet, 'w1', fleet.nowMs)).toMatchObject({ state: 'working', escalation: null, refused: [] });
});

test('the fleet keeps an index of escalated actors', () => {
  const fleet = foldLines([promises, ...failed, gaveUp]);
  expect([...fleet.escalated.keys()]).toEqual(['task/T-1', 'worker/w1']);
  foldLines(
    [
      ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' }],
      ['worker.w2.task.claimed', { task: 'T-1' }],
    ],
    fleet,
  );
  expect([...fleet.escalated.keys()]).toEqual([]);
});

test('the replica that received the attempt sends its notice; one that joins later does not', () => {
  const fleet = foldLines([promises, ['own.fleet.main.replica.joined', { replica: 'r1' }]]);
  foldLines([gaveUp, ['own.fleet.main.replica.joined', { replica: 'r2' }]], fleet);
  expect(fleet.escalated.get('worker/w1')?.owner).toBe('r1');
});
