/** `checkpoint.saved`: a point at which work on a task can be resumed. */
import { z } from 'zod';
import { idSchema } from '../values/schemas.ts';

export const checkpointSaved = z.object({
  checkpoint: idSchema,
  phase: z.string().optional(),
  step: z.union([z.string(), z.number()]).optional(),
  context: z.unknown().optional(),
});
