/** The normal form of a policy's checks. */
import { expect, test } from 'vitest';
import { policySetSchema } from '../../../../machines/index.ts';
import { replayLines } from '../../../support/fold-lines.ts';

test('the second check with a name of maximum length still gets a unique name', () => {
  const name = 'n'.repeat(128);
  const { policies } = policySetSchema.parse({
    policies: {
      default: {
        checks: [
          { name, plan: {} },
          { name, plan: {} },
        ],
      },
    },
  });
  const names = policies.get('default')?.checks.map((check) => check.name);
  expect(names).toEqual([name, `${'n'.repeat(126)}-2`]);
});

test('the feedback of a group that escalates includes earlier failures', () => {
  const either = { name: 'either', any: [{ rules: ['lint'] }, { remote: 'ci', onError: 'escalate' }] };
  const replay = replayLines(
    ['own.fleet.main.policy.set', { policies: { default: { checks: [either] } } }],
    ['worker.w1.stop.attempted', { attempt: 'a1', validation: [{ rule: 'lint', passed: false }] }],
    ['own.worker.w1.check.finished', { attempt: 'a1', check: 'ci', outcome: 'error', reason: 'no answer' }],
  );
  expect(replay.take()).toMatchObject([
    { decision: 'allow', action: 'escalate', feedback: [{ message: 'Failed rules: lint' }, { outcome: 'error' }] },
  ]);
});
