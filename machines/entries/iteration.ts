/** `iteration.*`: the turns of a loop that works on a task (protocol.md §7). */
import { z } from 'zod';
import { rulesSchema } from '../policy/checks/validation.ts';
import { promiseNames } from '../policy/promise.ts';
import { attemptSchema } from './attempt.ts';
import { noFields } from './fields.ts';

const iteration = z.int().positive();

export const iterationStarted = z.object({
  iteration,
  maxIterations: iteration,
  completionPromises: z.array(z.enum(promiseNames)).optional(),
  rules: rulesSchema.optional(),
  breakers: z.object({ failures: z.int().positive().optional() }).optional(),
});
export const iterationValidated = attemptSchema.extend({ iteration });
export const iterationAdvanced = noFields;
export const iterationCompleted = z.object({ iteration, promise: z.enum(promiseNames) });
