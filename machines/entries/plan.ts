/** `plan.updated` replaces a worker's plan; `step.updated` adds, changes or removes one step. */
import { z } from 'zod';
import { planStepsMax } from '../policy/plan.ts';
import { stepIdSchema } from '../values/schemas.ts';
import { title } from './fields.ts';

const step = z.object({ title, status: z.string(), step: stepIdSchema.optional() });
export const stepsSchema = z.array(step).max(planStepsMax);

export const planUpdated = z.object({ steps: stepsSchema });
export const stepUpdated = z.object({
  step: stepIdSchema,
  title: title.optional(),
  status: z.string().optional(),
});
