/**
 * Results of checks that ran outside the fold, agents' reports about rules, and feedback about checks that did not pass
 * (protocol.md §8).
 */
import { z } from 'zod';
import { feedbackLengthMax, ruleLengthMax, rulesMax, titleLengthMax } from '../../values/limits.ts';
import { idSchema, textSchema } from '../../values/schemas.ts';
import { cutMiddle, isLonger } from '../../values/text.ts';

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Identify the request that an entry answers. `seq`: the entry of the attempt or iteration. `number`: the 1-based
 * number of the request within it. Both are optional: without them, it is the open request with this attempt and name.
 */
export const checkRequestFields = {
  attempt: idSchema,
  check: idSchema,
  seq: z.int().nonnegative().optional(),
  number: z.int().positive().optional(),
};
const checkRequestSchema = z.object(checkRequestFields);
type CheckRequest = z.infer<typeof checkRequestSchema>;

/** Tells whether an entry answers this open request, not an earlier one with the same name. */
export const isAbout = (
  { attempt, check, seq, number }: CheckRequest,
  open: { readonly attempt: string; readonly seq: number },
  pending: { readonly name: string; readonly number: number },
): boolean =>
  attempt === open.attempt &&
  check === pending.name &&
  (seq === undefined || seq === open.seq) &&
  (number === undefined || number === pending.number);

/** The fields of `check.finished`. The fields from `action` on are only for remote hooks. */
export const checkResultSchema = z.object({
  ...checkRequestFields,
  outcome: z.enum(['pass', 'fail', 'error', 'timeout']),
  reason: textSchema(titleLengthMax).optional(),
  feedback: z.unknown().optional(),
  tookMs: z.number().nonnegative().optional(),
  action: z.enum(['complete', 'continue', 'escalate']).optional(),
  nextPrompt: z.string().optional(),
  checkpointData: z.unknown().optional(),
  metadata: z.custom<Record<string, unknown>>(isObject, 'is not an object').optional(),
});
export type CheckResult = z.infer<typeof checkResultSchema>;

export const feedbackSchema = z.object({
  check: z.string(),
  outcome: z
    .enum(['fail', 'error', 'timeout', 'warn'])
    .describe('warn: it did not pass, but does not block (`onFail: warn`)'),
  message: z.string(),
  details: z.unknown(),
});
export type Feedback = z.infer<typeof feedbackSchema>;

/** A shared empty value: every worker keeps a decision. */
export const noDetails = Object.freeze({});

/** Shortens the details of a finding (protocol.md §2). */
export function cutDetails(details: unknown): unknown {
  const text = typeof details === 'string' ? details : JSON.stringify(details);
  return text !== undefined && isLonger(text, feedbackLengthMax) ? cutMiddle(text, feedbackLengthMax) : details;
}

// The results of rules that an attempt or iteration reports.

const rule = textSchema(ruleLengthMax).min(1);

/** Names of rules. */
export const rulesSchema = z.array(rule).max(rulesMax);

export const validationSchema = z
  .array(z.object({ rule, passed: z.boolean(), message: z.string().optional() }))
  .max(rulesMax);
export type Validation = z.infer<typeof validationSchema>;

/** A rule reported both as passed and as failed has failed. */
export function passedRules(validation: Validation): ReadonlySet<string> {
  const passed = new Set(validation.filter((result) => result.passed).map((result) => result.rule));
  for (const result of validation) if (!result.passed) passed.delete(result.rule);
  return passed;
}
