/** `checkpoint.saved`: where a task can be taken up again. */
import { z } from 'zod';
import { idSchema } from '../values/schemas.ts';

export const checkpointSaved = z.object({
  checkpoint: idSchema,
  phase: z.string().optional(),
  step: z.union([z.string(), z.number()]).optional(),
  context: z.unknown().optional(),
});
