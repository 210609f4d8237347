/** `onStale: escalate` escalates a worker that becomes silent while it holds a task. */
import { describe, expect, test } from 'vitest';
import { createReplay } from '../../../../machines/index.ts';
import { timeOf } from '../../../support/case-times.ts';

type Line = readonly [time: string, tail: string, data?: object];
const escalating = { policies: { default: { onStale: 'escalate' } } };
const claimed = [
  ['12:00', 'task.T-1.task.created'],
  ['12:01', 'worker.w1.task.claimed', { task: 'T-1' }],
] as const;

/** Folds the lines and returns the fleet. */
function fleetAt(until: string, lines: readonly Line[], config: object = escalating) {
  const replay = createReplay({ untilMs: Date.parse(timeOf(until)) });
  for (const [at, tail, data = {}] of [['12:00', 'own.fleet.main.policy.set', config] as const, ...lines])
    expect(replay.fold(JSON.stringify({ at: timeOf(at), subject: `stopgate.main.${tail}`, data }))).toBeNull();
  const fleet = replay.view().fleets.main;
  return { task: fleet?.tasks['T-1'], worker: fleet?.workers.w1, decided: replay.take() };
}
const kept = { task: { worker: 'w1', escalation: null }, worker: { escalation: null, tasks: ['T-1'] } };
const escalated = { task: { state: 'escalated', worker: null }, worker: { state: 'escalated', tasks: [] } };

test('the worker and its task are escalated when it becomes stale', () => {
  expect(fleetAt('12:03', claimed)).toMatchObject(kept);
  const why = {
    cause: 'stale',
    reason: 'Worker w1 is stale and holds T-1',
    worker: 'w1',
    attempt: null,
    since: timeOf('12:03').replace('.000Z', '.001Z'),
  };
  expect(fleetAt('12:03:00.001', claimed)).toMatchObject({
    task: { state: 'escalated', worker: null, escalation: { ...why, withWorker: true } },
    worker: { state: 'escalated', presence: 'stale', presenceFrom: 'active', tasks: [], escalation: why },
  });
});

test('the steps of the task leave the plan of its worker, and are kept with the task', () => {
  const steps = [{ title: 'Write', status: 'pending', step: 's1' }];
  const lines: Line[] = [
    ['12:00', 'task.T-1.task.created', { plan: steps }],
    ['12:01', 'worker.w1.task.claimed', { task: 'T-1' }],
    ['12:01', 'worker.w1.step.updated', { step: 's1', status: 'done' }],
  ];
  expect(fleetAt('12:04', lines)).toMatchObject({
    worker: { state: 'escalated', plan: [] },
    task: { plan: [{ title: 'Write', status: 'done', step: 's1' }] },
  });
});

test('its later stops are allowed, and another worker may claim its task', () => {
  const lines: Line[] = [
    ...claimed,
    ['12:05', 'worker.w1.tool.used', { tool: 'Bash' }],
    ['12:05', 'worker.w1.stop.attempted', { attempt: 'a1' }],
    ['12:06', 'worker.w2.task.claimed', { task: 'T-1' }],
  ];
  expect(fleetAt('12:06', lines)).toMatchObject({
    task: { state: 'working', worker: 'w2', escalation: null },
    worker: { state: 'escalated' },
    decided: [{ decision: 'allow', action: 'escalate', cause: 'escalated' }],
  });
});

test('an operator or a prompt ends the escalation', () => {
  const resolved: Line[] = [
    ...claimed,
    ['12:05', 'own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' }],
  ];
  expect(fleetAt('12:05', resolved)).toMatchObject({ worker: { state: 'idle', escalation: null } });
  const prompted: Line[] = [...claimed, ['12:05', 'worker.w1.prompt.submitted']];
  expect(fleetAt('12:05', prompted)).toMatchObject({ worker: { state: 'working', escalation: null } });
});

describe('does not escalate', () => {
  test('a worker without tasks', () => {
    expect(fleetAt('12:30', [['12:00', 'worker.w1.tool.used', { tool: 'Bash' }]])).toMatchObject({
      worker: { state: 'working', presence: 'stale', escalation: null },
    });
  });

  test('a worker that keeps reporting', () => {
    const lines: Line[] = [...claimed, ['12:02', 'worker.w1.heartbeat.sent'], ['12:04', 'worker.w1.heartbeat.sent']];
    expect(fleetAt('12:06', lines)).toMatchObject(kept);
  });

  test('during a usage limit, but at its end', () => {
    const lines: Line[] = [...claimed, ['12:02', 'worker.w1.limit.reached', { until: timeOf('12:30') }]];
    expect(fleetAt('12:29:59.999', lines)).toMatchObject(kept);
    expect(fleetAt('12:30', lines)).toMatchObject(escalated);
  });

  test('during an open attempt and the two minutes after its answer', () => {
    const checks = [{ remote: 'slow', timeout: '20m' }];
    const answer = { attempt: 'a1', check: 'slow', outcome: 'fail', reason: 'no' };
    const lines: Line[] = [
      ...claimed,
      ['12:02', 'worker.w1.stop.attempted', { attempt: 'a1' }],
      ['12:12', 'own.worker.w1.check.finished', answer],
    ];
    const config = { policies: { default: { onStale: 'escalate', checks } } };
    expect(fleetAt('12:11', lines, config)).toMatchObject({ ...kept, worker: { state: 'validating' } });
    expect(fleetAt('12:14', lines, config)).toMatchObject({ ...kept, worker: { state: 'blocked' } });
    expect(fleetAt('12:14:00.001', lines, config)).toMatchObject(escalated);
  });

  test('by default', () => {
    expect(fleetAt('12:59', claimed, { policies: {} })).toMatchObject(kept);
  });
});

describe('the policy that applies', () => {
  test('may be set when the worker is already stale', () => {
    const lines: Line[] = [...claimed, ['12:20', 'own.fleet.main.policy.set', escalating]];
    expect(fleetAt('12:20', lines, { policies: {} })).toMatchObject(escalated);
  });

  test('is that of the task, also if it changes while the worker is stale', () => {
    const config = { policies: { watched: { onStale: 'escalate' } } };
    const lines: Line[] = [...claimed, ['12:20', 'task.T-1.task.created', { policy: 'watched' }]];
    expect(fleetAt('12:19', lines, config)).toMatchObject(kept);
    expect(fleetAt('12:20', lines, config)).toMatchObject(escalated);
  });

  test('is that of the task claimed last, also if that task is released', () => {
    const config = { policies: { watched: { onStale: 'escalate' } } };
    const lines: Line[] = [
      ['12:00', 'task.T-1.task.created', { policy: 'watched' }],
      ['12:01', 'worker.w1.task.claimed', { task: 'T-1' }],
      ['12:01', 'worker.w1.task.claimed', { task: 'T-2' }],
      ['12:20', 'task.T-2.task.cancelled'],
    ];
    expect(fleetAt('12:19', lines, config)).toMatchObject({ worker: { tasks: ['T-1', 'T-2'], escalation: null } });
    expect(fleetAt('12:20', lines, config)).toMatchObject(escalated);
  });
});

test('the escalation precedes a release, and applies to all tasks', () => {
  const lines: Line[] = [...claimed, ['12:01', 'worker.w1.task.claimed', { task: 'T-2' }]];
  expect(fleetAt('12:10', lines, { ...escalating, releaseAfter: 0 })).toMatchObject({
    task: { state: 'escalated' },
    worker: { state: 'escalated', escalation: { reason: 'Worker w1 is stale and holds T-1, T-2' } },
  });
});

test('a task that an escalated worker claims is escalated too, and its own escalation stays', () => {
  const lines: Line[] = [
    ['12:00', 'worker.w1.stop.attempted', { attempt: 'a1', output: '<promise>BLOCKED</promise>' }],
    ['12:01', 'worker.w1.task.claimed', { task: 'T-1' }],
  ];
  const config = { policies: { default: { onStale: 'escalate', promises: true } } };
  expect(fleetAt('12:04', lines, config)).toMatchObject({
    task: { state: 'escalated', escalation: { cause: 'stale' } },
    worker: { state: 'escalated', tasks: [], escalation: { cause: 'escalated', attempt: 'a1' } },
  });
});
