/** How large a set of policies may be (docs/protocol.md §2): every replica reads it, and every stop uses it. */
import { policiesMax, policyChecksMax, policyValuesMax } from '../values/limits.ts';

type Fault = { readonly path: string; readonly message: string };

/** @param fields of `policy.set`, whatever they hold */
export function policySizeFault(fields: object): Fault | null {
  const values = countValues(fields);
  if (values > policyValuesMax) return { path: '', message: `has ${values} values; the limit is ${policyValuesMax}` };
  const message = policiesSizeFault((fields as { policies?: unknown }).policies);
  return message === null ? null : { path: 'policies', message };
}

/** @param policies as they are written, or in their normal form */
export function policiesSizeFault(policies: unknown): string | null {
  const each = Object.values(objectOf(policies));
  if (each.length > policiesMax) return `has ${each.length} policies; the limit is ${policiesMax}`;
  const checks = each.reduce((sum: number, policy) => sum + countChecks(objectOf(policy)['checks']), 0);
  if (checks <= policyChecksMax) return null;
  return `has ${checks} checks, members included; the limit is ${policyChecksMax}`;
}

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

function countValues(value: unknown): number {
  let sum = 1;
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) sum += countValues(member);
  return sum;
}

function countChecks(checks: unknown): number {
  if (!Array.isArray(checks)) return 0;
  let sum = checks.length;
  for (const check of checks) {
    const { all, any, of } = objectOf(check);
    sum += countChecks(all ?? any ?? of);
  }
  return sum;
}
