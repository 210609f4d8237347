/** `releaseAfter` releases the tasks of a silent worker (seed 004, Rate Limit Considerations). */
import { describe, expect, test } from 'vitest';
import { createReplay } from '../../../../machines/index.ts';
import { timeOf } from '../../../support/case-times.ts';

const minutes = (count: number) => timeOf(`12:${String(count).padStart(2, '0')}`);

/** Folds lines of `[minute, end of the subject, data]` and returns the fleet. */
function fleetAfter(
  lines: readonly (readonly [number, string, object?])[],
  until: number,
  releaseAfter: string | null = '5m',
) {
  const replay = createReplay({ untilMs: Date.parse(minutes(until)) });
  const all = [[0, 'own.fleet.main.policy.set', { policies: {}, releaseAfter }] as const, ...lines];
  for (const [at, tail, data = {}] of all) {
    expect(replay.fold(JSON.stringify({ at: minutes(at), subject: `stopgate.main.${tail}`, data }))).toBeNull();
  }
  const fleet = replay.view().fleets.main;
  return { task: fleet?.tasks['T-1'], worker: fleet?.workers.w1, queue: fleet?.queues.main };
}
const claimed = [
  [0, 'task.T-1.task.created'],
  [1, 'worker.w1.task.claimed', { task: 'T-1' }],
] as const;

describe('with releaseAfter: 5m', () => {
  test('a task returns to its queue when its worker has been stale for five minutes', () => {
    expect(fleetAfter(claimed, 7)).toMatchObject({ task: { state: 'working', worker: 'w1' }, queue: { pending: 0 } });
    expect(fleetAfter(claimed, 8)).toMatchObject({
      task: { state: 'idle', worker: null },
      worker: { state: 'idle', tasks: [], presence: 'stale' },
      queue: { pending: 1 },
    });
  });

  test('a heartbeat keeps the task with its worker', () => {
    expect(fleetAfter([...claimed, [5, 'worker.w1.heartbeat.sent']], 11).task).toMatchObject({ worker: 'w1' });
    expect(fleetAfter([...claimed, [5, 'worker.w1.heartbeat.sent']], 13).task).toMatchObject({ worker: null });
  });

  test('a running tool keeps the task with its worker, and the time starts after the tool', () => {
    const running = [...claimed, [2, 'worker.w1.tool.started', { tool: 'Bash', call: 'c1' }]] as const;
    const done = [...running, [11, 'worker.w1.tool.used', { tool: 'Bash', call: 'c1' }]] as const;
    expect(fleetAfter(running, 20)).toMatchObject({ task: { worker: 'w1' }, worker: { presence: 'active' } });
    expect(fleetAfter(done, 17).task).toMatchObject({ worker: 'w1' });
    expect(fleetAfter(done, 18)).toMatchObject({ task: { worker: null }, worker: { presence: 'stale', tasks: [] } });
    // 30 minutes, the default `toolTime`, then the time of `releaseAfter`.
    expect(fleetAfter(running, 36).task).toMatchObject({ worker: 'w1' });
    expect(fleetAfter(running, 37).task).toMatchObject({ worker: null });
  });

  test('the time starts after the end of a usage limit', () => {
    const limited = [...claimed, [2, 'worker.w1.limit.reached', { until: minutes(30) }]] as const;
    expect(fleetAfter(limited, 29)).toMatchObject({ task: { worker: 'w1' }, worker: { presence: 'limited' } });
    expect(fleetAfter(limited, 34).task).toMatchObject({ worker: 'w1' });
    expect(fleetAfter(limited, 35).task).toMatchObject({ worker: null });
  });

  test('a limit that another worker clears for the scope ends at once', () => {
    const scope = { scope: 'account' };
    const limited = [
      ...claimed,
      [2, 'worker.w1.limit.reached', scope],
      [20, 'worker.w2.limit.cleared', scope],
    ] as const;
    expect(fleetAfter(limited, 24).task).toMatchObject({ worker: 'w1' });
    expect(fleetAfter(limited, 25).task).toMatchObject({ worker: null });
  });

  test('another worker may then claim it, and the first one is refused when it comes back', () => {
    const lines = [
      ...claimed,
      [10, 'worker.w2.task.claimed', { task: 'T-1' }],
      [11, 'worker.w1.task.completed', { task: 'T-1' }],
    ] as const;
    expect(fleetAfter(lines, 12)).toMatchObject({
      task: { state: 'working', worker: 'w2' },
      worker: { refused: [{ type: 'task.completed', reason: 'worker w1 does not hold task T-1' }] },
    });
  });

  test('applies to a worker that was stale before the setting', () => {
    const late = [...claimed, [20, 'own.fleet.main.policy.set', { policies: {}, releaseAfter: '1m' }]] as const;
    expect(fleetAfter(late, 21, null).task).toMatchObject({ worker: null });
  });
});

describe('a second task of a stale worker', () => {
  const both = [[0, 'task.T-2.task.created'], ...claimed, [1, 'worker.w1.task.claimed', { task: 'T-2' }]] as const;

  test('is released too, each task once', () => {
    expect(fleetAfter(both, 9)).toMatchObject({ task: { worker: null }, worker: { tasks: [] }, queue: { pending: 2 } });
  });

  test('stays held while a stop is open, and for the full time after the answer', () => {
    const policies = { default: { checks: [{ remote: 'slow', timeout: '20m' }] } };
    const asked = [
      [0, 'own.fleet.main.policy.set', { policies, releaseAfter: '5m' }],
      ...both,
      [1, 'worker.w1.stop.attempted', { attempt: 'a' }],
      [15, 'own.worker.w1.check.finished', { attempt: 'a', check: 'slow', outcome: 'fail', reason: 'no' }],
    ] as const;
    expect(fleetAfter(asked, 19)).toMatchObject({ worker: { tasks: ['T-1', 'T-2'] }, queue: { pending: 0 } });
    expect(fleetAfter(asked, 20)).toMatchObject({ worker: { tasks: [] }, queue: { pending: 2 } });
  });
});

// Root cause: a step outside of the chart left the worker recorded as stopped.
test('a worker that was stopped with a task is idle after the release, so it and its attempts are not forgotten', () => {
  const ask = { attempt: 'a', output: '<promise>ESCALATE</promise>' };
  const policies = { default: { promises: true } };
  const lines = [
    [0, 'own.fleet.main.policy.set', { policies, releaseAfter: '5m', forget: '20m' }],
    [0, 'worker.w1.stop.attempted', ask],
    ...claimed,
    [1, 'own.worker.w1.escalation.resolved', { by: 'ana', verdict: 'stop' }],
  ] as const;
  expect(fleetAfter(lines, 7).worker).toMatchObject({ state: 'stopped', tasks: ['T-1'] });
  expect(fleetAfter(lines, 8).worker).toMatchObject({ state: 'idle', tasks: [] });
  const repeated = [
    ...lines,
    [40, 'own.fleet.main.policy.set', { policies: {} }],
    [41, 'worker.w1.stop.attempted', ask],
  ] as const;
  expect(fleetAfter(repeated, 41).worker).toMatchObject({
    state: 'idle',
    lastDecision: { attempt: 'a', cause: 'escalated' },
  });
});

test('without releaseAfter a stale worker keeps its task', () => {
  expect(fleetAfter(claimed, 59, null).task).toMatchObject({ state: 'working', worker: 'w1' });
});
