/** `plan.updated` replaces a worker's plan; `step.updated` adds, changes or removes one step. */
import { z } from 'zod';
import { stepsSchema } from '../policy/plan.ts';
import { idSchema } from '../values/schemas.ts';

export const planUpdated = z.object({ steps: stepsSchema });
export const stepUpdated = z.object({
  step: idSchema,
  title: z.string().optional(),
  status: z.string().optional(),
});
