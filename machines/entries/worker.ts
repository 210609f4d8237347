/** `worker.registered`: what an agent reports of itself; `worker.retired`: an operator takes it out of service. */
import { z } from 'zod';
import { labelsMax } from '../values/limits.ts';
import { idSchema } from '../values/schemas.ts';
import { name } from './fields.ts';

const labels = z
  .record(z.string(), z.string())
  .refine((it) => Object.keys(it).length <= labelsMax, `has more than ${labelsMax} labels`);

export const workerRegistered = z.object({
  agent: name.optional(),
  profile: name.optional(),
  policy: idSchema.optional(),
  queue: idSchema.optional(),
  parent: idSchema.optional(),
  cwd: name.optional(),
  labels: labels.optional(),
});
export const workerRetired = z.object({ by: name });
