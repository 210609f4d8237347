/** `plan: {}`: every step of the worker's plan is done. `plan: { required: true }`: and it has steps. */
import { z } from 'zod';
import { remainingStepsMessage } from '../plan.ts';
import { type CheckForm, type CheckKind, findingFor } from './check.ts';

export const planCheck: CheckKind<'plan'> = {
  form: (object) =>
    object({ required: z.boolean().optional().describe('an empty plan fails') })
      .nullable()
      .optional()
      .describe('every step of the plan is done'),
  // `plan:` with nothing behind it is null.
  normalize: (value: CheckForm['plan']) => ({ kind: 'plan', required: value?.required ?? false }),
  evaluate: (check, { facts: { plan } }) =>
    findingFor(check, check.required && plan.length === 0 ? 'No plan yet' : remainingStepsMessage(plan)),
};
