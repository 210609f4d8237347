/** A stopped task may stay in the fold longer than `forget` (docs/protocol.md §15). */
import { expect, test } from 'vitest';
import { createReplay } from '../../../../machines/index.ts';
import { timeOf } from '../../../support/case-times.ts';

// Root cause: the task was dropped with its open validation, and the caller waited for ever.
test('a stopped task is kept while a validation of it waits for a remote hook', () => {
  const replay = createReplay({ untilMs: Date.parse(timeOf('13:00')) });
  const publish = (at: string, tail: string, data: object = {}) =>
    expect(replay.fold(JSON.stringify({ at: timeOf(at), subject: `stopgate.main.${tail}`, data }))).toBeNull();
  publish('12:00', 'own.fleet.main.policy.set', { policies: {}, forget: '30s' });
  publish('12:00', 'task.T.task.created');
  publish('12:00', 'task.T.task.cancelled');
  publish('12:00', 'task.T.hook.registered', { type: 'remote', name: 'review' });
  publish('12:00', 'task.T.iteration.started', { iteration: 1, maxIterations: 3 });
  publish('12:00', 'task.T.iteration.validated', { iteration: 1, attempt: 'v' });
  publish('12:01', 'own.task.T.check.finished', { attempt: 'v', check: 'review', outcome: 'pass', action: 'complete' });
  expect(replay.take()).toMatchObject([{ taskId: 'T', attempt: 'v', action: 'complete' }]);
  expect(replay.view().fleets.main?.tasks).toEqual({});
});
