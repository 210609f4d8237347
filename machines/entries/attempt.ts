/** `stop.attempted` opens an attempt; `attempt.accepted`: a replica takes it over. */
import { z } from 'zod';
import { validationSchema } from '../policy/checks/validation.ts';
import { promiseSchema } from '../policy/promise.ts';
import { durationMsMax } from '../values/duration.ts';
import { idSchema } from '../values/schemas.ts';
import { files } from './fields.ts';

/** The fields of `stop.attempted`, and so the body of `decide`, `probe` and `verify`. */
export const attemptSchema = z.object({
  attempt: idSchema.optional(),
  stopReason: z.string().optional(),
  output: z.string().optional(),
  toolCount: z.int().nonnegative().optional(),
  files: files.optional(),
  validation: validationSchema.optional(),
  promises: z.array(promiseSchema).optional(),
  draft: z.object({ content: z.string().optional(), type: z.string().optional() }).optional(),
  holdMs: z.int().nonnegative().max(durationMsMax).optional(),
});
export type AttemptFields = z.infer<typeof attemptSchema>;

/** `from`: the silent owner. Of two replicas that take over from it only the first entry counts. */
export const attemptAccepted = z.object({ attempt: idSchema, replica: idSchema, from: idSchema.optional() });
