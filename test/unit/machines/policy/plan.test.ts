/** A worker's plan, and what remains of it. */
import { expect, test } from 'vitest';
import { remainingStepsMessage } from '../../../../machines/policy/checks/plan.ts';
import { updateStep } from '../../../../machines/policy/plan.ts';

test('a plan changes step by step: added, changed, removed', () => {
  const one = updateStep([], { step: '1' });
  expect(one).toEqual([{ title: '1', status: 'pending', step: '1' }]);
  const done = updateStep(one, { step: '1', title: 'Write', status: 'done' });
  expect(remainingStepsMessage(done)).toBeNull();
  expect(updateStep(done, { step: '1', status: 'deleted' })).toEqual([]);
  expect(updateStep(done, { step: '9', status: 'deleted' })).toBe(done);
});

test('titles are cut between code points', () => {
  expect(remainingStepsMessage([{ title: '🙂'.repeat(40), status: 'pending' }])).toBe(
    `1 of 1 plan steps remain: ${'🙂'.repeat(30)}`,
  );
});
