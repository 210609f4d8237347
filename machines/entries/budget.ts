/** `budget.exhausted`: tokens, cost, turns or time are used up; `usage.reported`: what an agent has used since its last report. */
import { z } from 'zod';
import { nameLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';

export const budgetExhausted = z.object({ kind: z.string().optional() });

/** An increment: JSON has no number that is not finite, but `1e999` is read as one. */
const amount = z.number().nonnegative();

/** Tokens, and dollars. */
export const usageReported = z.object({
  input: amount.optional(),
  output: amount.optional(),
  cacheRead: amount.optional(),
  cacheWrite: amount.optional(),
  usd: amount.optional(),
  model: textSchema(nameLengthMax).min(1).optional(),
});
