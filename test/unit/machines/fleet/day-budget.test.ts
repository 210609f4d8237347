/** The daily budget of a fleet, and the resolutions that grant it again. */

import { expect, test } from 'vitest';
import { createFleet, type Decision, foldEntry } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

/** Opens a fleet that escalates when 100 dollars are spent in a day, or 50 by one worker. */
function openFleet() {
  const fleet = createFleet('main');
  const decisions: Decision[] = [];
  const fold = (tail: string, data: object = {}) => {
    const entry = entryOf(tail, data);
    const { outcomes } = foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000 * fleet.seq, entry });
    decisions.push(...outcomes.flatMap((outcome) => (outcome.kind === 'decided' ? [outcome.decision] : [])));
  };
  const own = { budget: { usd: 50 }, onBudget: 'escalate' };
  fold('own.fleet.main.policy.set', { policies: { default: own }, budget: { usd: 100, per: 'day' } });
  return {
    fleet,
    fold,
    spend: (worker: string, usd: number) => fold(`worker.${worker}.usage.reported`, { usd }),
    resume: (worker: string) => fold(`own.worker.${worker}.escalation.resolved`, { by: 'ann', verdict: 'resume' }),
    stop(worker: string) {
      fold(`worker.${worker}.stop.attempted`);
      return decisions.at(-1)?.cause;
    },
  };
}

test('resuming a worker that the daily budget stopped grants it again, for all workers', () => {
  const { spend, stop, resume } = openFleet();
  for (const worker of ['w1', 'w2', 'w3']) spend(worker, 40);
  expect([stop('w1'), stop('w2')]).toEqual(['budget', 'budget']);
  resume('w1');
  expect([stop('w1'), stop('w3')]).toEqual(['no-policy', 'no-policy']);
  spend('w4', 49);
  spend('w5', 49);
  expect(stop('w4')).toBe('no-policy');
  spend('w5', 2);
  expect(stop('w4')).toBe('budget');
});

test('resuming a worker that its own budget stopped does not grant the daily budget', () => {
  const { spend, stop, resume } = openFleet();
  spend('w1', 50);
  expect(stop('w1')).toBe('budget');
  resume('w1');
  expect(stop('w1')).toBe('no-policy');
  for (const worker of ['w2', 'w3']) spend(worker, 25);
  expect(stop('w2')).toBe('budget');
});

test('resuming a task that was escalated for the daily budget grants it again', () => {
  const { fold, spend, stop } = openFleet();
  fold('worker.w1.task.claimed', { task: 'T-1' });
  for (const worker of ['w2', 'w3', 'w4']) spend(worker, 40);
  expect(stop('w1')).toBe('budget');
  fold('own.task.T-1.escalation.resolved', { by: 'ann', verdict: 'stop' });
  expect(stop('w2')).toBe('budget');
  fold('worker.w5.task.claimed', { task: 'T-2' });
  expect(stop('w5')).toBe('budget');
  fold('own.task.T-2.escalation.resolved', { by: 'ann', verdict: 'resume' });
  expect(stop('w6')).toBe('no-policy');
});

test('usage that is reported after the stop counts for the task that was held then', () => {
  const { fleet, fold, spend, stop } = openFleet();
  const usedBy = (task: string) => (fleet.tasks.read(task)?.snapshot.context.usage.nanoUsd ?? 0) / 1e9;
  fold('worker.w1.task.claimed', { task: 'T-1' });
  spend('w1', 1);
  expect(stop('w1')).toBe('no-policy');
  spend('w1', 2);
  expect(usedBy('T-1')).toBe(3);
  fold('worker.w1.prompt.submitted');
  spend('w1', 4);
  expect(usedBy('T-1')).toBe(3);
  fold('worker.w1.task.claimed', { task: 'T-2' });
  spend('w1', 8);
  expect([usedBy('T-1'), usedBy('T-2')]).toEqual([3, 8]);
});
