/** Each of two held tasks is judged by its own remote hooks. */
import { expect, test } from 'vitest';
import { createReplay } from '../../../../machines/index.ts';

test('the answer of a hook does not count for a hook with that name on a newly claimed task', () => {
  const replay = createReplay({ untilMs: Date.parse('2026-03-02T12:00:05.000Z') });
  const lines = [
    ['task.T-1.hook.registered', { type: 'remote', name: 'easy' }],
    ['task.T-2.hook.registered', { type: 'remote', name: 'hard' }],
    ['worker.w1.task.claimed', { task: 'T-1' }],
    ['worker.w1.stop.attempted', { attempt: 'a' }],
    ['worker.w1.task.claimed', { task: 'T-2' }],
    ['own.worker.w1.check.finished', { attempt: 'a', check: 'easy', outcome: 'pass' }],
  ] as const;
  lines.forEach(([tail, data], index) => {
    const at = `2026-03-02T12:00:0${index}.000Z`;
    expect(replay.fold(JSON.stringify({ at, subject: `stopgate.main.${tail}`, data }))).toBeNull();
  });
  expect(replay.view().fleets.main).toMatchObject({
    workers: { w1: { state: 'validating', attempt: { waitsFor: 'check hard' } } },
    tasks: { 'T-1': { state: 'validating' }, 'T-2': { state: 'validating' } },
  });
});

test('an unjudged first task stays unjudged after the hooks of the second pass', () => {
  const replay = createReplay();
  const lines = [
    ['task.T-1.hook.registered', { type: 'remote', name: 'review', onError: 'skip' }],
    ['task.T-2.hook.registered', { type: 'promise' }],
    ['worker.w1.task.claimed', { task: 'T-1' }],
    ['worker.w1.task.claimed', { task: 'T-2' }],
    ['worker.w1.stop.attempted', { attempt: 'a', output: '<promise>COMPLETE</promise>' }],
    ['own.worker.w1.check.finished', { attempt: 'a', check: 'review', outcome: 'error', reason: 'it is away' }],
  ] as const;
  lines.forEach(([tail, data], index) => {
    replay.fold(JSON.stringify({ at: `2026-03-02T12:00:0${index}.000Z`, subject: `stopgate.main.${tail}`, data }));
  });
  expect(replay.view().fleets.main?.workers.w1?.lastDecision).toMatchObject({
    cause: 'unjudged',
    reason: expect.stringContaining('T-1: hook-1: Hook evaluation failed: it is away'),
    tasks: ['T-1', 'T-2'],
  });
});
