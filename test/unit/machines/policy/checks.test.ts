/** Checks of a policy, in their normal form. */
import { expect, test } from 'vitest';
import { policySetSchema } from '../../../../machines/index.ts';

test('the second check of a name that is as long as names may be still has a name', () => {
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
