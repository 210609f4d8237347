/** The report of an attempt or an iteration about its rules. */
import { z } from 'zod';
import { ruleLengthMax, rulesMax } from '../../values/limits.ts';
import { textSchema } from '../../values/schemas.ts';

const rule = textSchema(ruleLengthMax).min(1);

/** Names of rules. */
export const rulesSchema = z.array(rule).max(rulesMax);

export const validationSchema = z
  .array(z.object({ rule, passed: z.boolean(), message: z.string().optional() }))
  .max(rulesMax);
export type Validation = z.infer<typeof validationSchema>;

/** One that was reported both ways has failed. */
export function passedRules(validation: Validation): ReadonlySet<string> {
  const passed = new Set(validation.filter((it) => it.passed).map((it) => it.rule));
  for (const it of validation) if (!it.passed) passed.delete(it.rule);
  return passed;
}
