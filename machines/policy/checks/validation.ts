/** What an attempt or an iteration reports of its rules. */
import { z } from 'zod';

export const validationSchema = z.array(
  z.object({ rule: z.string().min(1), passed: z.boolean(), message: z.string().optional() }),
);
export type Validation = z.infer<typeof validationSchema>;
