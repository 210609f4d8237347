/** What somebody sent, read by a schema: the same error, with the same words, wherever it came in. */
import type { z } from 'zod';
import { describeIssues, toIssues } from '../machines/index.ts';
import { AppError } from './errors.ts';

/** @throws AppError input.bad */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error);
  throw new AppError('input.bad', describeIssues(issues), { issues });
}
