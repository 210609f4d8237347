/** `budget.exhausted`: tokens, cost, turns or time are used up. */
import { z } from 'zod';

export const budgetExhausted = z.object({ kind: z.string().optional() });
