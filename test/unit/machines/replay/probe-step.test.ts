/** A probe of a single step evaluates only the checks of the policy, as if the plan were done. */

import { expect, test } from 'vitest';
import { createFleet, type Fleet, foldEntry, probe } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

function fold(policy: object, ...lines: [subject: string, data: object][]): Fleet {
  const fleet = createFleet('main');
  const all = [['own.fleet.main.policy.set', { policies: { default: policy } }] as const, ...lines];
  for (const [index, [subject, data]] of all.entries()) {
    const entry = entryOf(subject, data);
    foldEntry(fleet, { seq: index + 1, atMs: (index + 1) * 1_000, entry });
  }
  return fleet;
}
const planned = ['worker.w1.plan.updated', { steps: [{ title: 'a', status: 'pending' }] }] as [string, object];
const probed = (fleet: Fleet, scope: 'stop' | 'step') => {
  const found = probe(fleet, 'w1', {}, fleet.nowMs, scope);
  if ('awaited' in found) throw new Error('a check is awaited');
  const { decision, cause, reason, verdicts } = found.decision;
  return { decision, cause, reason, guards: verdicts.map(({ guard }) => guard) };
};

test('plan checks pass at any depth, other checks are evaluated', () => {
  const deep = { all: [{ plan: {} }, { any: [{ plan: {} }, { rules: ['never'] }] }, { rules: ['tests_pass'] }] };
  const fleet = fold({ checks: [{ plan: {} }, deep] }, planned);
  expect(probed(fleet, 'stop')).toMatchObject({ reason: '1 of 1 plan steps remain: a' });
  expect(probed(fleet, 'step')).toMatchObject({
    decision: 'block',
    cause: 'incomplete',
    reason: 'Failed rules: tests_pass',
    guards: ['checks'],
  });
});

test('a required plan passes', () => {
  const fleet = fold({ checks: [{ plan: { required: true } }] }, ['worker.w1.heartbeat.sent', {}]);
  expect(probed(fleet, 'stop')).toMatchObject({ decision: 'block', reason: 'No plan yet' });
  expect(probed(fleet, 'step')).toMatchObject({ decision: 'allow', cause: 'complete' });
});

test('caps, waiting, hooks of the task and persistence do not count', () => {
  const policy = { checks: [{ plan: {} }], retries: 0, persistence: 'default', stuckAfter: 1 };
  const fleet = fold(
    policy,
    planned,
    ['worker.w1.background.started', { id: 'b' }],
    ['worker.w1.task.claimed', { task: 'T-1' }],
    ['task.T-1.hook.registered', { type: 'validation' }],
    ['worker.w1.input.requested', {}],
  );
  expect(probed(fleet, 'stop')).toMatchObject({ cause: 'waiting' });
  expect(probed(fleet, 'step')).toMatchObject({ decision: 'allow', cause: 'complete' });
});

test('remote checks still get the real plan', () => {
  const fleet = fold({ checks: [{ plan: {} }, { command: 'tests' }] }, planned);
  const found = probe(fleet, 'w1', {}, fleet.nowMs, 'step');
  expect(found).toMatchObject({ awaited: { name: 'tests' }, worker: { plan: [{ title: 'a' }] } });
  if (!('awaited' in found)) throw new Error('no check is awaited');
  const failed = found.next({ attempt: 'probe', check: 'tests', outcome: 'fail', reason: 'red' });
  expect(failed).toMatchObject({ decision: { decision: 'block', reason: 'red', dryRun: true } });
  expect(fleet.workers.get('w1')?.snapshot.context.worker.plan).toHaveLength(1);
});
