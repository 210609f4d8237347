/** A replica reads its effects from the state, and a step names all actors whose effects it changed. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  actorsWithEffects,
  createFleet,
  type Effect,
  effectsOf,
  type Fleet,
  fleetKey,
  foldEntry,
  isRequested,
} from '../../../../machines/index.ts';
import { expectEqual } from '../../../support/expect-equal.ts';
import { entryOf } from '../../../support/fold-lines.ts';
import { takesAll } from '../../../support/random.ts';
import { randomLog } from '../../../support/random-log.ts';

type Line = readonly [tail: string, data: object];

/** Folds one line per second. `owner` is the replica that received the request. */
function foldLines(fleet: Fleet, lines: readonly Line[], owner: string | null = null): void {
  for (const [tail, data] of lines) {
    const entry = entryOf(tail, data);
    const seq = fleet.seq + 1;
    foldEntry(fleet, { seq, atMs: seq * 1_000, entry, owner });
  }
}

const joined = (replica: string): Line => ['own.fleet.main.replica.joined', { replica }];
const policies: Line = [
  'own.fleet.main.policy.set',
  { policies: { default: { promises: true, checks: [{ command: 'tests' }] } } },
];
const asked = (fleet: Fleet) => effectsOf(fleet, actorsWithEffects(fleet));
const shownOf = (fleet: Fleet, kind: Effect['kind']) =>
  asked(fleet).flatMap((effect) => (effect.kind === kind ? [[effect.key, effect.owner, effect.dueMs]] : []));

test('an open attempt requests its check from its owner until an entry answers it', () => {
  const fleet = createFleet('main');
  foldLines(fleet, [joined('r1'), joined('r2'), policies]);
  foldLines(fleet, [['worker.w1.stop.attempted', { attempt: 'a1' }]], 'r2');
  expect(shownOf(fleet, 'check')).toEqual([['w1:a1:check:1:tests', 'r2', 4_000]]);
  const [check] = asked(fleet) as [Effect];
  foldLines(fleet, [['own.worker.w1.attempt.accepted', { attempt: 'a1', replica: 'r1', from: 'r2' }]]);
  expect(shownOf(fleet, 'check')).toEqual([[check.key, 'r1', 4_000]]);
  expect(isRequested(fleet, check)).toBe(true);
  foldLines(fleet, [['own.worker.w1.check.finished', { attempt: 'a1', check: 'tests', outcome: 'pass' }]]);
  expect(isRequested(fleet, check)).toBe(false);
});

test('an iteration requests its remote hook from its replica until an entry answers it', () => {
  const fleet = createFleet('main');
  foldLines(fleet, [
    joined('r1'),
    joined('r2'),
    ['task.T-1.hook.registered', { hook: 'h', type: 'remote', name: 'review' }],
    ['task.T-1.iteration.started', { iteration: 1, maxIterations: 3 }],
  ]);
  foldLines(fleet, [['task.T-1.iteration.validated', { iteration: 1, attempt: 'v1' }]], 'r2');
  expect(shownOf(fleet, 'hook')).toEqual([['T-1:5:hook:1:review', 'r2', 0]]);
  foldLines(fleet, [['own.task.T-1.check.finished', { attempt: 'v1', check: 'review', outcome: 'pass' }]]);
  expect(shownOf(fleet, 'hook')).toEqual([]);
});

test('an escalation requests a notice, then reminders until somebody acknowledges it', () => {
  const fleet = createFleet('main');
  foldLines(fleet, [joined('r1'), policies]);
  foldLines(fleet, [['worker.w1.stop.attempted', { attempt: 'a1', output: '<promise>BLOCKED</promise>' }]]);
  const [first] = shownOf(fleet, 'notice') as [[string, string, number]];
  expect(first.slice(1)).toEqual(['r1', 3_000]);
  const delivery = first[0].replace('/notified', '');
  foldLines(fleet, [['own.worker.w1.escalation.notified', { count: 1, delivery }]]);
  const [second] = shownOf(fleet, 'notice') as [[string, string, number]];
  expect(second[0]).not.toBe(first[0]);
  expect(second.slice(1)).toEqual(['r1', 4_000]);
  foldLines(fleet, [['own.worker.w1.escalation.acknowledged', { by: 'ada' }]]);
  expect(shownOf(fleet, 'notice')).toEqual([]);
});

test('a deadline of another kind at the same time needs a new timer', () => {
  const fleet = createFleet('main');
  const fold = (atMs: number, [tail, data]: Line) => {
    const entry = entryOf(tail, data);
    return foldEntry(fleet, { seq: fleet.seq + 1, atMs, entry }).touched.has(fleetKey);
  };
  const escalate = { policies: { default: { onStale: 'escalate' } } };
  fold(500, ['worker.w1.task.claimed', { task: 'T-1' }]);
  expect(shownOf(fleet, 'timer')).toEqual([['w1:stale::120501', null, 121_000]]);
  expect(fold(120_501, ['own.fleet.main.policy.set', escalate])).toBe(true);
  expect(shownOf(fleet, 'timer')).toEqual([['w1:escalate::120501', null, 120_501]]);
});

/** Collects the effects by reading each index of the fleet separately, without timers. */
function expectedOf(fleet: Fleet): string[] {
  const checks = [...fleet.workers].flatMap(([id, { snapshot, owner }]) => {
    const { attempt } = snapshot.context.worker;
    const pending = attempt?.pending;
    return attempt == null || pending == null
      ? []
      : [`check ${id}:${attempt.attempt}:check:${pending.number}:${pending.name} ${owner}`];
  });
  const hooks = [...fleet.tasks].flatMap(([id, { snapshot }]) =>
    snapshot.context.evaluations.map(
      ({ seq, pending, owner }) => `hook ${id}:${seq}:hook:${pending.number}:${pending.name} ${owner}`,
    ),
  );
  const notices = [...fleet.escalated].flatMap(([key, { entity, id }]) => {
    const task = entity === 'task' ? fleet.tasks.read(id)?.snapshot.context.escalation : null;
    const it = entity === 'task' ? task : fleet.workers.read(id)?.snapshot.context.worker.escalation;
    if (it == null || it.acknowledgedBy !== null || task?.withWorker === true) return [];
    return [`notice main/${key}/${it.seq}/${it.since}/${it.notified + 1}/notified`];
  });
  const { waitingMs, unattendedMs } = fleet.policies;
  const requests = [...fleet.workers].flatMap(([id, { snapshot }]) =>
    snapshot.context.worker.inputs.flatMap(({ overdue, seq, since }) =>
      overdue?.acknowledgedBy === null && waitingMs !== null && snapshot.value.state !== 'stopped'
        ? [`notice main/worker/${id}/waiting/${seq}/${since}/${overdue.notified + 1}/notified`]
        : [],
    ),
  );
  const queues = [...fleet.queues].flatMap(([id, { unattended: it }]) =>
    it?.acknowledgedBy === null && unattendedMs !== null
      ? [`notice main/queue/${id}/${it.seq}/${it.since}/${it.notified + 1}/notified`]
      : [],
  );
  return [...checks, ...hooks, ...notices, ...requests, ...queues].sort();
}

/** Replicas decide only at the deadline who sends a notice, so the sender is ignored. */
const show = ({ kind, key, owner }: Effect) => (kind === 'notice' ? `${kind} ${key}` : `${kind} ${key} ${owner}`);

test('reading the effects of the touched actors after each step finds all effects', () => {
  const seen = new Set<Effect['kind']>();
  fc.assert(
    fc.property(randomLog(120), (log) => {
      const fleet = createFleet('main');
      const known = new Map<string, Effect[]>();
      for (const entry of log) {
        for (const actor of foldEntry(fleet, entry).touched) known.set(actor, effectsOf(fleet, [actor]));
        const [timer] = known.get(fleetKey) ?? [];
        known.delete(fleetKey);
        const effects = [...known.values()].flat();
        for (const { kind } of effects) seen.add(kind);
        const expected = expectedOf(fleet);
        expectEqual(effects.map(show).sort(), expected);
        const all = asked(fleet);
        expectEqual(
          all
            .filter(({ kind }) => kind !== 'timer')
            .map(show)
            .sort(),
          expected,
        );
        // A timer may fire too early because its deadline moved; then the next one is read. It fires a second late
        // at most, if the first deadline shares the entry of that second and no longer applies.
        const next = all.find(({ kind }) => kind === 'timer');
        if (next !== undefined) expect(timer?.dueMs).toBeLessThanOrEqual(Math.ceil(next.dueMs / 1_000) * 1_000);
        known.set(fleetKey, timer === undefined ? [] : [timer]);
      }
    }),
    { numRuns: takesAll ? 60 : 30 },
  );
  // Random logs rarely wait for a remote hook, so a separate test above covers it.
  expect([...seen]).toEqual(expect.arrayContaining(['check', 'notice']));
});
