/**
 * `seq-<number>` is the generated id of an attempt. An entry that names such an id can only repeat it (docs/protocol.md
 * §5).
 */
import { expect, test } from 'vitest';
import { createReplay } from '../../../../machines/index.ts';
import { timeOf } from '../../../support/case-times.ts';

const at = timeOf('12:00');
const reason = expect.stringContaining('ids of this form are made for attempts without an id');

function createLog() {
  const replay = createReplay({ untilMs: Date.parse(at) });
  const publish = (tail: string, data: object = {}) =>
    expect(replay.fold(JSON.stringify({ at, subject: `stopgate.main.${tail}`, data }))).toBeNull();
  return { replay, publish };
}

// Root cause: the later attempt counted as a repeat, so it was not judged and got the decision of the earlier one.
test('an attempt cannot take the generated id of a later attempt', () => {
  const { replay, publish } = createLog();
  publish('own.fleet.main.policy.set', { policies: { default: { checks: [{ rules: ['r'] }] } } });
  publish('worker.w1.stop.attempted', { attempt: 'seq-3', validation: [{ rule: 'r', passed: true }] });
  publish('worker.w1.stop.attempted', { validation: [{ rule: 'r', passed: false }] });
  publish('worker.w1.stop.attempted', { attempt: 'seq-3' });
  expect(replay.take()).toMatchObject([{ attempt: 'seq-3', seq: 3, decision: 'block' }]);
  expect(replay.view().fleets.main?.workers.w1?.refused).toMatchObject([{ seq: 2, type: 'stop.attempted', reason }]);
});

test('a validation cannot take the generated id of a later validation', () => {
  const { replay, publish } = createLog();
  publish('task.T.iteration.started', { iteration: 1, maxIterations: 3 });
  publish('task.T.iteration.validated', { iteration: 1, attempt: 'seq-3' });
  publish('task.T.iteration.validated', { iteration: 1 });
  expect(replay.take()).toMatchObject([{ taskId: 'T', attempt: null }]);
  expect(replay.view().fleets.main?.tasks.T?.refused).toMatchObject([{ seq: 2, type: 'iteration.validated', reason }]);
});
