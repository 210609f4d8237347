/**
 * People get notices without an escalation for a request that waits for longer than `escalation.waiting`, and for a
 * queue whose ready tasks no live worker can take for longer than `escalation.unattended`.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  actorsWithEffects,
  createFleet,
  createReplay,
  effectsOf,
  type Fleet,
  foldEntry,
  queueFor,
} from '../../../../machines/index.ts';
import { timeOf } from '../../../support/case-times.ts';
import { expectEqual } from '../../../support/expect-equal.ts';
import { entryOf } from '../../../support/fold-lines.ts';
import { takesAll } from '../../../support/random.ts';
import { randomLog } from '../../../support/random-log.ts';

type Line = readonly [time: string, tail: string, data?: object];
const asked: Line = ['12:00', 'worker.w1.input.requested', { kind: 'question', message: 'Which key?', request: 'r1' }];
const created: Line = ['12:00', 'task.T-1.task.created', { title: 'Fix login', queue: 'build' }];
const quick: Line = [
  '12:00',
  'own.fleet.main.policy.set',
  { policies: {}, escalation: { waiting: '5m', unattended: '1m' } },
];
const never: Line = [
  '12:00',
  'own.fleet.main.policy.set',
  { policies: {}, escalation: { waiting: null, unattended: null } },
];

/** Folds the lines and returns the fleet. */
function fleetAt(until: string, lines: readonly Line[]) {
  const replay = createReplay({ untilMs: Date.parse(timeOf(until)) });
  for (const [at, tail, data = {}] of lines)
    expect(replay.fold(JSON.stringify({ at: timeOf(at), subject: `stopgate.main.${tail}`, data }))).toBeNull();
  const fleet = replay.view().fleets.main;
  return {
    queue: fleet?.queues.build,
    overdue: fleet?.workers.w1?.inputs.map((input) => input.overdue?.since ?? null),
  };
}

describe('a request that waits for a person', () => {
  test('is overdue at exactly 30 minutes, unless the policies say otherwise', () => {
    expect(fleetAt('12:29:59.999', [asked]).overdue).toEqual([null]);
    expect(fleetAt('12:30', [asked]).overdue).toEqual([timeOf('12:30')]);
    expect(fleetAt('12:04:59.999', [quick, asked]).overdue).toEqual([null]);
    expect(fleetAt('12:05', [quick, asked]).overdue).toEqual([timeOf('12:05')]);
    expect(fleetAt('23:00', [never, asked]).overdue).toEqual([null]);
  });

  test('is overdue independently: a later request has its own time', () => {
    const second: Line = ['12:10', 'worker.w1.input.requested', { kind: 'permission', request: 'r2' }];
    expect(fleetAt('12:30', [asked, second]).overdue).toEqual([timeOf('12:30'), null]);
    expect(fleetAt('12:40', [asked, second]).overdue).toEqual([timeOf('12:30'), timeOf('12:40')]);
  });

  test('starts a new time if the agent repeats the request', () => {
    const again: Line = ['12:10', 'worker.w1.input.requested', { kind: 'question', request: 'r1' }];
    expect(fleetAt('12:39:59.999', [asked, again]).overdue).toEqual([null]);
    expect(fleetAt('12:40', [asked, again]).overdue).toEqual([timeOf('12:40')]);
  });

  test.each<readonly [string, Line]>([
    ['it was answered', ['12:29', 'own.worker.w1.input.answered', { by: 'ann', request: 'r1', verdict: 'allow' }]],
    ['the agent got its input', ['12:29', 'worker.w1.input.received', { request: 'r1' }]],
    ['the agent was prompted', ['12:29', 'worker.w1.prompt.submitted']],
    ['its session ended', ['12:29', 'worker.w1.session.ended']],
  ])('ends when %s', (_why, line) => {
    expect(fleetAt('13:00', [asked, line]).overdue).toEqual([]);
  });

  test('has a new deadline when the policies change', () => {
    const later: Line = ['12:10', 'own.fleet.main.policy.set', { policies: {}, escalation: { waiting: '20m' } }];
    expect(fleetAt('12:19:59.999', [never, asked, later]).overdue).toEqual([null]);
    expect(fleetAt('12:20', [never, asked, later]).overdue).toEqual([timeOf('12:20')]);
  });
});

describe('a queue whose ready tasks no worker can take', () => {
  const alive: Line = ['12:00', 'worker.w1.worker.registered', { queue: 'build' }];
  const unattended = (since: string) => ({ unattended: { since: timeOf(since), notified: 0, acknowledgedBy: null } });

  test('is unattended at exactly 10 minutes, unless the policies say otherwise', () => {
    expect(fleetAt('12:09:59.999', [created]).queue).toMatchObject({ workers: 0, unattended: null });
    expect(fleetAt('12:10', [created]).queue).toMatchObject(unattended('12:00'));
    expect(fleetAt('12:00:59.999', [quick, created]).queue).toMatchObject({ unattended: null });
    expect(fleetAt('12:01', [quick, created]).queue).toMatchObject(unattended('12:00'));
    expect(fleetAt('23:00', [never, created]).queue).toMatchObject({ unattended: null });
  });

  test('is attended only by a live worker of this queue', () => {
    const other: Line = ['12:00', 'worker.w2.worker.registered', { queue: 'docs' }];
    expect(fleetAt('12:10', [alive, created]).queue).toMatchObject({ workers: 0, unattended: null });
    expect(fleetAt('12:02', [alive, created]).queue).toMatchObject({ workers: 1, unattended: null });
    // The worker is stale from 12:02:00.001.
    expect(fleetAt('12:12', [alive, created]).queue).toMatchObject({ unattended: null });
    expect(fleetAt('12:12:00.001', [alive, other, created]).queue).toMatchObject({
      unattended: { since: '2026-03-02T12:02:00.001Z' },
    });
  });

  test.each<readonly [string, readonly Line[]]>([
    ['its session ended', [['12:01', 'worker.w1.session.ended']]],
    ['it was retired', [['12:01', 'own.worker.w1.worker.retired', { by: 'ann' }]]],
    [
      'it needs a person',
      [
        ['12:01', 'own.fleet.main.policy.set', { policies: { default: { promises: true } } }],
        ['12:01', 'worker.w1.stop.attempted', { output: '<promise>BLOCKED</promise>' }],
      ],
    ],
    ['it has reached a usage limit', [['12:01', 'worker.w1.limit.reached', {}]]],
    ['it works for another queue now', [['12:01', 'worker.w1.worker.registered', { queue: 'docs' }]]],
  ])('has lost a worker when %s', (_why, lines) => {
    expect(fleetAt('12:01', [alive, created]).queue).toMatchObject({ workers: 1 });
    expect(fleetAt('12:01', [alive, created, ...lines]).queue).toMatchObject({ workers: 0 });
    expect(fleetAt('12:10:59.999', [alive, created, ...lines]).queue).toMatchObject({ unattended: null });
    expect(fleetAt('12:11', [alive, created, ...lines]).queue).toMatchObject(unattended('12:01'));
  });

  test.each<readonly [string, readonly Line[]]>([
    ['a worker is there', [['12:20', 'worker.w1.worker.registered', { queue: 'build' }]]],
    ['somebody takes the task', [['12:20', 'worker.w1.task.claimed', { task: 'T-1' }]]],
    ['the task is cancelled', [['12:20', 'task.T-1.task.cancelled']]],
    ['the task is for another queue', [['12:20', 'task.T-1.task.created', { queue: 'docs' }]]],
  ])('is no longer unattended when %s', (_why, lines) => {
    expect(fleetAt('12:20', [created]).queue).toMatchObject(unattended('12:00'));
    expect(fleetAt('12:20', [created, ...lines]).queue?.unattended ?? null).toBeNull();
  });

  test('counts the workers whose policy names it', () => {
    const policies = (queue: string) => ({ policies: { default: { persistence: { idle: '1h', queue } } } });
    const lines: Line[] = [
      ['12:00', 'own.fleet.main.policy.set', policies('build')],
      ['12:00', 'worker.w1.worker.registered', {}],
      created,
    ];
    expect(fleetAt('12:01', lines).queue).toMatchObject({ workers: 1 });
    const moved: Line[] = [...lines, ['12:01', 'own.fleet.main.policy.set', policies('docs')]];
    expect(fleetAt('12:01', moved).queue).toMatchObject({ workers: 0 });
    expect(fleetAt('12:11', moved).queue).toMatchObject(unattended('12:01'));
  });

  test('counts only ready tasks, not those after another task or of a reported depth', () => {
    const lines: Line[] = [
      ['12:00', 'task.T-0.task.created', { queue: 'docs' }],
      ['12:00', 'task.T-1.task.created', { queue: 'build', after: ['T-0'] }],
      ['12:00', 'queue.build.depth.reported', { pending: 3 }],
    ];
    expect(fleetAt('13:00', lines).queue).toMatchObject({ pending: 3, unattended: null });
    const done: Line[] = [
      ...lines,
      ['12:30', 'worker.w9.task.claimed', { task: 'T-0' }],
      ['12:30', 'worker.w9.task.completed', { task: 'T-0' }],
    ];
    expect(fleetAt('12:40', done).queue).toMatchObject({ pending: 4, ...unattended('12:30') });
  });
});

test('attendance follows from the current states, whatever happened before', () => {
  fc.assert(
    fc.property(randomLog(120), (log) => {
      const fleet = createFleet('main');
      for (const entry of log) {
        foldEntry(fleet, entry);
        const counts = new Map<string, number>();
        for (const [worker, { snapshot }] of fleet.workers) {
          const { state, presence } = snapshot.value;
          if (presence !== 'active' || state === 'stopped' || state === 'escalated') continue;
          const queue = queueFor(fleet, worker);
          counts.set(queue, (counts.get(queue) ?? 0) + 1);
        }
        expectEqual([...fleet.attendants].sort(), [...counts].sort());
        for (const [queue, { ready, aloneMs, unattended }] of fleet.queues) {
          const isAlone = ready.size > 0 && !counts.has(queue);
          expectEqual(
            { isAlone: aloneMs !== null, isTold: fleet.neglected.has(`queue/${queue}`) },
            { isAlone, isTold: unattended !== null },
          );
          if (unattended !== null) expect(isAlone).toBe(true);
        }
        for (const [worker, { snapshot }] of fleet.workers)
          expectEqual(
            fleet.neglected.has(`worker/${worker}`),
            snapshot.context.worker.inputs.some(({ overdue }) => overdue !== undefined),
          );
      }
    }),
    { numRuns: takesAll ? 40 : 25 },
  );
});

describe('the notice', () => {
  const fold = (fleet: Fleet, lines: readonly Line[]) => {
    for (const [at, tail, data = {}] of lines) {
      const entry = entryOf(tail, data);
      foldEntry(fleet, { seq: fleet.seq + 1, atMs: Date.parse(timeOf(at)), entry });
    }
  };
  const noticesOf = (fleet: Fleet) =>
    effectsOf(fleet, actorsWithEffects(fleet)).flatMap((effect) => (effect.kind === 'notice' ? [effect.data] : []));
  const neglected = () => {
    const fleet = createFleet('main');
    fold(fleet, [asked, created, ['12:30', 'own.queue.build.timer.fired', { timer: 'unattended' }]]);
    return fleet;
  };
  const places = { waiting: 'own.worker.w1', unattended: 'own.queue.build' } as const;

  test.each(['waiting', 'unattended'] as const)(
    '%s: is requested once, then as a reminder until it is acknowledged',
    (kind) => {
      const fleet = neglected();
      const next = () => noticesOf(fleet).filter((notice) => notice.kind === kind);
      const notified = (delivery: string, count: number): Line => [
        '12:31',
        `${places[kind]}.escalation.notified`,
        { count, delivery },
      ];
      const [first] = next();
      expect(next()).toMatchObject([{ kind, notified: 0 }]);
      fold(fleet, [notified('another', 1), notified(first?.delivery ?? '', 1), notified(first?.delivery ?? '', 1)]);
      expect(next()).toMatchObject([{ kind, notified: 1 }]);
      expect(next()[0]?.delivery).not.toBe(first?.delivery);
      fold(fleet, [['12:32', `${places[kind]}.escalation.acknowledged`, { by: 'ann' }]]);
      expect(next()).toEqual([]);
    },
  );

  test('is not requested when notices are turned off, or for a stopped worker', () => {
    const fleet = neglected();
    expect(noticesOf(fleet)).toHaveLength(2);
    fold(fleet, [['12:31', 'own.fleet.main.policy.set', never[2] as object]]);
    expect(noticesOf(fleet)).toEqual([]);
    const other = neglected();
    fold(other, [['12:31', 'worker.w1.stop.attempted', { stopReason: 'user_interrupt' }]]);
    expect(noticesOf(other).map(({ kind }) => kind)).toEqual(['unattended']);
  });

  test('is separate for each request of a worker', () => {
    const fleet = neglected();
    fold(fleet, [
      ['12:31', 'worker.w1.input.requested', { request: 'r2' }],
      ['13:02', 'worker.w1.heartbeat.sent'],
    ]);
    const waiting = noticesOf(fleet).filter(({ kind }) => kind === 'waiting');
    expect(new Set(waiting.map(({ delivery }) => delivery)).size).toBe(2);
    fold(fleet, [['13:03', 'worker.w1.input.received', { request: 'r1' }]]);
    expect(noticesOf(fleet)).toMatchObject([{ kind: 'unattended' }, { kind: 'waiting', request: { request: 'r2' } }]);
  });

  test('can be acknowledged only if it exists', () => {
    const fleet = createFleet('main');
    const ack = (at: string): Line => [at, 'own.worker.w1.escalation.acknowledged', { by: 'ann' }];
    fold(fleet, [asked, ack('12:01')]);
    expect(fleet.workers.get('w1')?.snapshot.context.worker.refused).toMatchObject([
      { type: 'escalation.acknowledged', reason: 'worker w1 is not escalated' },
    ]);
    fold(fleet, [ack('12:30')]);
    expect(fleet.workers.get('w1')?.snapshot.context.worker).toMatchObject({
      refused: [{}],
      inputs: [{ overdue: { acknowledgedBy: 'ann' } }],
    });
  });
});
