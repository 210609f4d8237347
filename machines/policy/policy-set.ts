/**
 * The policies of a fleet. The same form is used in two places: in `stopgate.yaml` unknown keys are errors; in a
 * `policy.set` entry they are ignored, because an older replica may read it. Both give the same normal form.
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

/** A set of policies has bounds (docs/protocol.md §2): every replica reads it, and every stop uses it. */
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
  const checks = each.reduce((sum: number, policy) => sum + countChecks(objectOf(policy).checks), 0);
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

/** A row applies to workers that match all of its fields; the first match counts. */
export type Assignment = {
  readonly policy: string;
  readonly agent?: string | undefined;
  readonly worker?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
};

/** `releaseAfterMs`: how long a worker may be stale before its tasks go back to their queues; null: for ever. */
export type PolicySet = {
  readonly policies: ReadonlyMap<string, Policy>;
  readonly assign: readonly Assignment[];
  /** The budget of all workers together; null: none. */
  readonly budget: DayBudget | null;
  readonly releaseAfterMs: number | null;
  /** A stopped worker or task is remembered this long; null: for ever. */
  readonly forgetMs: number | null;
  /** A request may wait this long for a person before others are notified; null: nobody is. */
  readonly waitingMs: number | null;
  /** Ready tasks may wait this long while nobody alive could take them; null: nobody is notified. */
  readonly unattendedMs: number | null;
};

/** These policies hold before the first `policy.set`. */
export const noPolicies: PolicySet = Object.freeze({
  policies: new Map(),
  assign: [],
  budget: null,
  releaseAfterMs: null,
  forgetMs: forgetMsDefault,
  waitingMs: waitingMsDefault,
  unattendedMs: unattendedMsDefault,
});

/** The part of `escalation:` that the fold reads; the rest of it is no rule, and stays in the configuration. */
export const noticeTimes = {
  waiting: durationSchema
    .nullable()
    .optional()
    .describe('tell people of a request that waits for a person for this long; default 30m, null: never'),
  unattended: durationSchema
    .nullable()
    .optional()
    .describe(
      'tell people of a queue whose ready tasks nobody alive could take for this long; default 10m, null: never',
    ),
};

const schemas = { loose: createSchemas(looseObject), strict: createSchemas(strictObject) };

/** The payload of a `policy.set` entry. */
export const policySetSchema: z.ZodType<PolicySet> = schemas.loose.policySet;
/** The contents of `policies:` and `assign:` in a configuration. */
export const strictPoliciesSchema = schemas.strict.policies;
export const strictAssignSchema = schemas.strict.assign;
export const strictDayBudgetSchema = schemas.strict.dayBudget;
/** One policy, in the form in which `policy.set` has it. */
export const policySchema: z.ZodType<Policy> = schemas.loose.policy;
/** The form that a person writes, for a JSON Schema. */
export const policyFormSchema = schemas.strict.policyForm;

function createSchemas(object: ObjectMaker) {
  const policyForm = createPolicyForm(object);
  const assign = z.array(
    object({
      policy: idSchema,
      agent: z.string().min(1).optional(),
      worker: idSchema.optional(),
      labels: z.record(z.string(), z.string()).optional(),
    }),
  );
  const dayBudget = createDayBudgetForm(object);
  const policy = policyForm.transform(normalizePolicy);
  const policies = z
    .record(idSchema, policy)
    .superRefine((it, context) => {
      const message = policiesSizeFault(it);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .transform((it) => new Map(Object.entries(it)));
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
  return { policyForm, policy, policies, assign, dayBudget, policySet };
}
