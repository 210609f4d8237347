/**
 * The policies of a fleet. `stopgate.yaml` and `policy.set` entries use the same form. Unknown keys are errors in the
 * file, but ignored in an entry, because an older replica may read it.
 */
import { z } from 'zod';
import {
  forgetMsDefault,
  policiesMax,
  policyChecksMax,
  policyValuesMax,
  unattendedMsDefault,
  waitingMsDefault,
} from '../values/limits.ts';
import { durationSchema, idSchema, looseObject, type ObjectMaker, strictObject } from '../values/schemas.ts';
import { createDayBudgetForm, type DayBudget, normalizeDayBudget } from './budget.ts';
import { createPolicyForm, normalizePolicy, type Policy } from './policy.ts';

/** Why a set exceeds the limits of protocol.md §2. The set is limited because every replica reads it at every stop. */
type Fault = { readonly path: string; readonly message: string };

/** @param fields unvalidated fields of `policy.set` */
export function policySizeFault(fields: object): Fault | null {
  const values = countValues(fields);
  if (values > policyValuesMax) return { path: '', message: `has ${values} values; the limit is ${policyValuesMax}` };
  const message = policiesSizeFault((fields as { policies?: unknown }).policies);
  return message === null ? null : { path: 'policies', message };
}

/** @param policies in written or normal form */
function policiesSizeFault(policies: unknown): string | null {
  const all = Object.values(objectOf(policies));
  if (all.length > policiesMax) return `has ${all.length} policies; the limit is ${policiesMax}`;
  const checks = all.reduce((sum: number, policy) => sum + countChecks(objectOf(policy).checks), 0);
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

/** Applies to workers that match all its fields. The first matching row counts. */
export type Assignment = {
  readonly policy: string;
  readonly agent?: string | undefined;
  readonly worker?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
};

/** `releaseAfterMs`: how long a worker may be stale before its tasks are handed back; null is forever. */
export type PolicySet = {
  readonly policies: ReadonlyMap<string, Policy>;
  readonly assign: readonly Assignment[];
  /** The budget of all workers together, or null. */
  readonly budget: DayBudget | null;
  readonly releaseAfterMs: number | null;
  /** How long stopped workers and tasks are remembered; null is forever. */
  readonly forgetMs: number | null;
  /** How long a request may wait for a person before people are notified; null is never. */
  readonly waitingMs: number | null;
  /** How long ready tasks may wait with no active worker to take them before people are notified; null is never. */
  readonly unattendedMs: number | null;
};

/** In force before the first `policy.set`. */
export const emptyPolicySet: PolicySet = Object.freeze({
  policies: new Map(),
  assign: [],
  budget: null,
  releaseAfterMs: null,
  forgetMs: forgetMsDefault,
  waitingMs: waitingMsDefault,
  unattendedMs: unattendedMsDefault,
});

/** The part of `escalation:` that the fold reads. The rest is not in the log; it stays in the configuration. */
export const noticeTimes = {
  waiting: durationSchema
    .nullable()
    .optional()
    .describe('notify people of a request that has waited for a person this long; default 30m, null: never'),
  unattended: durationSchema
    .nullable()
    .optional()
    .describe(
      'notify people of a queue whose ready tasks no active worker could take for this long; default 10m, null: never',
    ),
};

const schemas = { loose: createSchemas(looseObject), strict: createSchemas(strictObject) };

/** The payload of a `policy.set` entry. */
export const policySetSchema: z.ZodType<PolicySet> = schemas.loose.policySet;
/** The contents of `policies:` and `assign:` in a configuration. */
export const strictPoliciesSchema = schemas.strict.policies;
export const strictAssignSchema = schemas.strict.assign;
export const strictDayBudgetSchema = schemas.strict.dayBudget;
/** One policy in the form of `policy.set`. */
export const policySchema: z.ZodType<Policy> = schemas.loose.policy;

function createSchemas(object: ObjectMaker) {
  const assign = z.array(
    object({
      policy: idSchema,
      agent: z.string().min(1).optional(),
      worker: idSchema.optional(),
      labels: z.record(z.string(), z.string()).optional(),
    }),
  );
  const dayBudget = createDayBudgetForm(object);
  const policy = createPolicyForm(object).transform(normalizePolicy);
  const policies = z
    .record(idSchema, policy)
    .superRefine((set, context) => {
      const message = policiesSizeFault(set);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .transform((set) => new Map(Object.entries(set)));
  const policySet = z
    .object({
      policies,
      assign: assign.optional(),
      budget: dayBudget.nullable().optional(),
      releaseAfter: durationSchema.nullable().optional(),
      forget: durationSchema.nullable().optional(),
      escalation: z.object(noticeTimes).optional(),
    })
    .transform(
      ({ policies: found, assign: rows, budget, releaseAfter, forget, escalation = {} }): PolicySet => ({
        policies: found,
        assign: rows ?? [],
        budget: normalizeDayBudget(budget),
        releaseAfterMs: releaseAfter ?? null,
        forgetMs: forget === undefined ? forgetMsDefault : forget,
        waitingMs: escalation.waiting === undefined ? waitingMsDefault : escalation.waiting,
        unattendedMs: escalation.unattended === undefined ? unattendedMsDefault : escalation.unattended,
      }),
    );
  return { policy, policies, assign, dayBudget, policySet };
}
