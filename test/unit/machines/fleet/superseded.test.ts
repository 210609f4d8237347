/** A superseded attempt has no caller any more. test/conformance/superseded.json has the rules. */

import { expect, test } from 'vitest';
import { createFleet, type Decision, foldEntry } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

function openAttempt(policy: object = {}) {
  const fleet = createFleet('main');
  const decisions: Decision[] = [];
  const fold = (tail: string, data: object = {}) => {
    const entry = entryOf(tail, data);
    const { outcomes } = foldEntry(fleet, { seq: fleet.seq + 1, atMs: fleet.seq, entry });
    decisions.push(...outcomes.flatMap((outcome) => (outcome.kind === 'decided' ? [outcome.decision] : [])));
  };
  fold('own.fleet.main.policy.set', { policies: { default: { checks: [{ remote: 'ci' }], ...policy } } });
  fold('worker.w1.stop.attempted', { attempt: 'a1' });
  return { fold, decisions };
}

test('a superseded attempt is decided by the policy and the queue with which it began', () => {
  const { fold, decisions } = openAttempt({ persistence: { idle: '10m', queue: 'build' } });
  fold('task.T-1.task.created', { queue: 'build' });
  for (const task of ['T-2', 'T-3']) fold(`task.${task}.task.created`, { queue: 'other' });
  fold('own.fleet.main.policy.set', { policies: { default: { persistence: { idle: '5m', queue: 'other' } } } });
  fold('worker.w1.prompt.submitted');
  expect(decisions).toMatchObject([{ cause: 'superseded', pendingTasks: 1, idle: { limitMs: 600_000 } }]);
});
