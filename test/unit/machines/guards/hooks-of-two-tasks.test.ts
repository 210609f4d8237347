/** A stop that waits for a remote hook, while its worker claims another task: each task's hooks are asked themselves. */
import { expect, test } from 'vitest';
import { createReplay } from '../../../../machines/index.ts';

test('the answer of a hook is none for the hook of that name on a task that was claimed meanwhile', () => {
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
