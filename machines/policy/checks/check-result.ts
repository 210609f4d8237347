/**
 * The result of a check that ran outside the fold, the report of an agent about its rules, and what the agent is told
 * about a check that did not pass (protocol.md §8).
 */
import { z } from 'zod';
import { feedbackLengthMax, ruleLengthMax, rulesMax, titleLengthMax } from '../../values/limits.ts';
import { idSchema, textSchema } from '../../values/schemas.ts';
import { cutMiddle, isLonger } from '../../values/text.ts';

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The request that an entry is about. `seq`: the entry of the attempt or iteration; `number`: which request of it, 1-based.
 * Without them it is about the open request of that attempt and name.
 */
export const checkRequestFields = {
  attempt: idSchema,
  check: idSchema,
  seq: z.int().nonnegative().optional(),
  number: z.int().positive().optional(),
};
const checkRequestSchema = z.object(checkRequestFields);
type NamedRequest = z.infer<typeof checkRequestSchema>;

/** Tells whether an entry is about this open request, and not about an earlier one of the same name. */
export const isAbout = (
  { attempt, check, seq, number }: NamedRequest,
  open: { readonly attempt: string; readonly seq: number },
  pending: { readonly name: string; readonly number: number },
): boolean =>
  attempt === open.attempt &&
  check === pending.name &&
  (seq === undefined || seq === open.seq) &&
  (number === undefined || number === pending.number);

/** The fields of `check.finished`. `action` and what follows: the answer of a remote hook. */
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
    .describe('warn: it did not pass, and blocks nobody (`onFail: warn`)'),
  message: z.string(),
  details: z.unknown(),
});
export type Feedback = z.infer<typeof feedbackSchema>;

/** One for all: a decision is held by each worker. */
export const noDetails = Object.freeze({});

/** Returns what a check found, with long texts cut in the middle (protocol.md §2). */
export function cutDetails(details: unknown): unknown {
  const text = typeof details === 'string' ? details : JSON.stringify(details);
  return text !== undefined && isLonger(text, feedbackLengthMax) ? cutMiddle(text, feedbackLengthMax) : details;
}

// The report of an attempt or an iteration about its rules.

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
