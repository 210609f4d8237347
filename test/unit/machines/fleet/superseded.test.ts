/** An attempt that nobody waits for any more: the agent goes on, or its worker was retired. */

import { expect, test } from 'vitest';
import { createFleet, type Decision, foldEntry, viewWorker } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

function openAttempt(policy: object = {}) {
  const fleet = createFleet('main');
  const decisions: Decision[] = [];
  const fold = (tail: string, data: object = {}) => {
    const entry = entryOf(tail, data);
    const { outcomes } = foldEntry(fleet, { seq: fleet.seq + 1, atMs: fleet.seq, entry });
    decisions.push(...outcomes.flatMap((it) => (it.kind === 'decided' ? [it.decision] : [])));
  };
  fold('own.fleet.main.policy.set', { policies: { default: { checks: [{ remote: 'ci' }], ...policy } } });
  fold('worker.w1.stop.attempted', { attempt: 'a1' });
  return { fold, decisions, view: () => viewWorker(fleet, 'w1', fleet.nowMs) };
}

test('a prompt replaces the open attempt: it is decided as superseded, and its check no longer counts', () => {
  const { fold, decisions, view } = openAttempt();
  expect(view()).toMatchObject({ state: 'validating', attempt: { attempt: 'a1' } });
  fold('worker.w1.prompt.submitted');
  expect(decisions).toMatchObject([{ attempt: 'a1', cause: 'superseded' }]);
  expect(view()).toMatchObject({ state: 'working', attempt: null });
  fold('own.worker.w1.check.finished', { attempt: 'a1', check: 'ci', outcome: 'fail', reason: 'red' });
  expect(decisions).toHaveLength(1);
});

test('it is decided by the policy and the queue with which it began', () => {
  const { fold, decisions } = openAttempt({ persistence: { idle: '10m', queue: 'build' } });
  fold('task.T-1.task.created', { queue: 'build' });
  for (const task of ['T-2', 'T-3']) fold(`task.${task}.task.created`, { queue: 'other' });
  fold('own.fleet.main.policy.set', { policies: { default: { persistence: { idle: '5m', queue: 'other' } } } });
  fold('worker.w1.prompt.submitted');
  expect(decisions).toMatchObject([{ cause: 'superseded', pendingTasks: 1, idle: { limitMs: 600_000 } }]);
});

test('of a retired worker a prompt changes nothing', () => {
  const { fold, decisions, view } = openAttempt();
  fold('own.worker.w1.worker.retired', { by: 'ann' });
  const before = view();
  const decided = decisions.length;
  fold('worker.w1.prompt.submitted');
  expect(decisions).toHaveLength(decided);
  expect(view()?.state).toBe(before?.state);
});
