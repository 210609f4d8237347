/** The result of a check that ran outside the fold, and what an agent hears of one that did not pass (protocol.md §8). */
import { z } from 'zod';
import { titleLengthMax } from '../../values/limits.ts';
import { idSchema, textSchema } from '../../values/schemas.ts';

/** The fields of `check.finished`. `action` and what follows: the answer of a remote hook. */
export const checkResultSchema = z.object({
  attempt: idSchema,
  check: idSchema,
  outcome: z.enum(['pass', 'fail', 'error', 'timeout']),
  reason: textSchema(titleLengthMax).optional(),
  feedback: z.unknown().optional(),
  tookMs: z.number().nonnegative().optional(),
  action: z.enum(['complete', 'continue', 'escalate']).optional(),
  nextPrompt: z.string().optional(),
  checkpointData: z.unknown().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});
export type CheckResult = z.infer<typeof checkResultSchema>;

export const feedbackSchema = z.object({
  check: z.string(),
  outcome: z.enum(['fail', 'error', 'timeout']),
  message: z.string(),
  details: z.unknown(),
});
export type Feedback = z.infer<typeof feedbackSchema>;
