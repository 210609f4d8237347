/**
 * Entries that are too large are refused before their shape is checked: the schema would read all of them first, and
 * list each of a thousand faults.
 */
import type { z } from 'zod';
import { planStepsMax } from '../policy/plan.ts';
import { policySizeFault } from '../policy/policy-size.ts';
import { afterMax, hookMembersMax, labelsMax, rulesMax } from '../values/limits.ts';

/** How many members lists and maps may have, by the name of their field. */
const lengthsMax = Object.entries({
  after: afterMax,
  completionPromises: 16,
  labels: labelsMax,
  plan: planStepsMax,
  promises: rulesMax,
  rules: rulesMax,
  steps: planStepsMax,
  validation: rulesMax,
});

/** Null: nothing is too large. */
export function sizeFault(
  type: string,
  schema: z.ZodType,
  fields: object,
): { readonly path: string; readonly message: string } | null {
  const { shape = {} } = schema as { readonly shape?: object };
  for (const [path, most] of lengthsMax) {
    const value: unknown = Object.hasOwn(shape, path) ? (fields as Record<string, unknown>)[path] : undefined;
    if (typeof value !== 'object' || value === null) continue;
    const length = Array.isArray(value) ? value.length : Object.keys(value).length;
    if (length > most) return { path, message: `has ${length} items; the limit is ${most}` };
  }
  if (type === 'policy.set') return policySizeFault(fields);
  if (type !== 'hook.registered' || membersOf(fields) <= hookMembersMax) return null;
  return { path: 'of', message: `has more than ${hookMembersMax} members` };
}

/** Members of a hook at every depth. It has not been validated yet. */
function membersOf(fields: object): number {
  const { of } = fields as { of?: unknown };
  if (!Array.isArray(of)) return 0;
  let sum = of.length;
  for (const member of of) if (typeof member === 'object' && member !== null) sum += membersOf(member);
  return sum;
}
