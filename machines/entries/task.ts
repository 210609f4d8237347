/** `task.*`: about the task itself, or from the worker that claims it or lets go of it. */
import { z } from 'zod';
import { afterMax } from '../values/limits.ts';
import { idSchema } from '../values/schemas.ts';
import { title } from './fields.ts';
import { stepsSchema } from './plan.ts';

export const taskCreated = z.object({
  title: title.optional(),
  queue: idSchema.optional(),
  plan: stepsSchema.optional(),
  policy: idSchema.optional(),
  after: z.array(idSchema).max(afterMax).optional(),
});
export const taskCancelled = z.object({ reason: title.optional() });

export const taskClaimed = z.object({ task: idSchema });
export const taskCompleted = z.object({ task: idSchema, result: z.unknown().optional() });
export const taskFailed = z.object({ task: idSchema, reason: title.optional() });
export const taskReleased = z.object({ task: idSchema });
