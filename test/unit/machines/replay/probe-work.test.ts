/** A probe of the work, as for `verify`, includes some tasks that the worker no longer holds. */
import { expect, test } from 'vitest';
import { createFleet, type Fleet, foldEntry, probe } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

type Line = readonly [minute: number, tail: string, data?: object];
const plan = [{ title: 'Write', status: 'pending', step: 's1' }];

/** Folds a worker that holds T-1 with an open step, and then the lines. */
function fold(config: object, lines: readonly Line[]): Fleet {
  const fleet = createFleet('main');
  const before: Line[] = [
    [
      0,
      'own.fleet.main.policy.set',
      { policies: { default: { checks: [{ plan: {} }], ...config } }, ...fleetOf(config) },
    ],
    [0, 'task.T-1.task.created', { plan }],
    [0, 'worker.w1.task.claimed', { task: 'T-1' }],
  ];
  for (const [index, [minute, tail, data]] of [...before, ...lines].entries())
    foldEntry(fleet, { seq: index + 1, atMs: minute * 60_000, entry: entryOf(tail, data) });
  return fleet;
}
const fleetOf = ({ releaseAfter }: { releaseAfter?: string }) => (releaseAfter === undefined ? {} : { releaseAfter });

function verified(fleet: Fleet) {
  const found = probe(fleet, 'w1', {}, fleet.nowMs, 'work');
  if ('awaited' in found) throw new Error('a check is awaited');
  return `${found.decision.decision} ${found.decision.cause} [${found.decision.tasks}]`;
}

const open = 'block incomplete [T-1]';
const nothingOpen = 'allow complete []';
const capped: Line = [1, 'worker.w1.stop.attempted', { attempt: 'a1' }];
const failed: Line = [1, 'worker.w1.task.failed', { task: 'T-1' }];

test.each<[what: string, config: object, lines: readonly Line[], answer: string]>([
  ['is escalated as stale', { onStale: 'escalate' }, [[9, 'own.worker.w1.timer.fired', { timer: 'stale' }]], open],
  [
    'is stale, and its task went back',
    { releaseAfter: '1m' },
    [[9, 'own.worker.w1.timer.fired', { timer: 'x' }]],
    open,
  ],
  ['gave the task up', {}, [failed], open],
  ['gave the task up, and stopped', {}, [failed, capped], open],
  ['was capped', { retries: 0 }, [capped], open],
  ['gave the task back', {}, [[1, 'worker.w1.task.released', { task: 'T-1' }]], nothingOpen],
  ['had it cancelled', {}, [[1, 'task.T-1.task.cancelled']], nothingOpen],
  ['gave it up before it was cancelled', {}, [failed, [2, 'task.T-1.task.cancelled']], nothingOpen],
  [
    'gave it up, and another completed it',
    {},
    [failed, [2, 'worker.w2.task.claimed', { task: 'T-1' }], [3, 'worker.w2.task.completed', { task: 'T-1' }]],
    nothingOpen,
  ],
  ['gave it up, and was prompted', {}, [failed, [2, 'worker.w1.prompt.submitted']], nothingOpen],
])('a worker that %s', (_, config, lines, answer) => {
  expect(verified(fold(config, lines))).toBe(answer);
});

test('held tasks are included together with the lost one', () => {
  const other = [{ title: 'Read', status: 'pending' }];
  const fleet = createFleet('main');
  const lines: [string, object][] = [
    ['own.fleet.main.policy.set', { policies: { default: { checks: [{ plan: {} }] } } }],
    ['task.T-1.task.created', { plan }],
    ['task.T-2.task.created', { plan: other }],
    ['worker.w1.task.claimed', { task: 'T-1' }],
    ['worker.w1.task.claimed', { task: 'T-2' }],
    ['worker.w1.task.failed', { task: 'T-1' }],
  ];
  for (const [index, [tail, data]] of lines.entries())
    foldEntry(fleet, { seq: index + 1, atMs: index * 1_000, entry: entryOf(tail, data) });
  const found = probe(fleet, 'w1', {}, fleet.nowMs, 'work');
  expect(found).toMatchObject({ decision: { tasks: ['T-1', 'T-2'], reason: '2 of 2 plan steps remain: Read, Write' } });
});

test('a forgotten task is no longer included', () => {
  const cancelled: Line = [2, 'task.T-1.task.cancelled'];
  const later: Line = [60 * 24 * 20, 'own.worker.w1.timer.fired', { timer: 'x' }];
  const fleet = fold({}, [failed, cancelled, [60 * 24 * 6, 'worker.w1.heartbeat.sent'], later]);
  expect(fleet.tasks.has('T-1')).toBe(false);
  expect(verified(fleet)).toBe(nothingOpen);
});
