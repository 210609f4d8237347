/**
 * The policies of a fleet. The same form is used in two places: in `stopgate.yaml` unknown keys are errors; in a
 * `policy.set` entry they are ignored, because an older replica may read it. Both give the same normal form.
 */
import { z } from 'zod';
import { forgetMsDefault } from '../values/limits.ts';
import { durationSchema, idSchema } from '../values/schemas.ts';
import { createDayBudgetForm, type DayBudget, normalizeDayBudget } from './budget.ts';
import { looseObject, type ObjectMaker, strictObject } from './object-maker.ts';
import { createPolicyForm, normalizePolicy, type Policy } from './policy.ts';
import { policiesSizeFault } from './policy-size.ts';

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
  /** Of all workers together; null: none. */
  readonly budget: DayBudget | null;
  readonly releaseAfterMs: number | null;
  /** How long a stopped worker or task is remembered; null: for ever. */
  readonly forgetMs: number | null;
};

const schemas = { loose: createSchemas(looseObject), strict: createSchemas(strictObject) };

/** What `policy.set` carries. */
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
    })
    .transform(
      ({ policies: found, assign: rows, budget, releaseAfter, forget }): PolicySet => ({
        policies: found,
        assign: rows ?? [],
        budget: normalizeDayBudget(budget),
        releaseAfterMs: releaseAfter ?? null,
        forgetMs: forget === undefined ? forgetMsDefault : forget,
      }),
    );
  return { policyForm, policy, policies, assign, dayBudget, policySet };
}
