/** The result types of checks, one per seed, and their encoding on the wire (protocol.md §8). */
import { z } from 'zod';
import { describeIssues, toIssues } from '../../machines/index.ts';
import { AppError } from '../errors.ts';

/** The result of a stop hook (seed 001). */
export type StopHookResult = {
  readonly action: 'complete' | 'continue' | 'escalate';
  readonly reason: string;
  readonly nextPrompt?: string | null;
  readonly checkpointData?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
};

/** The result of a validator (seed 000). */
export class ValidationResult {
  readonly complete: boolean;
  readonly reason: string;

  constructor({ complete, reason }: { readonly complete: boolean; readonly reason: string }) {
    this.complete = complete;
    this.reason = reason;
  }

  render(): string {
    return `[${this.complete ? 'complete' : 'incomplete'}] ${this.reason}`;
  }
}

/** The result of a completion checker (seed 002). Has feedback only if incomplete. */
export class TaskCompletionResult {
  readonly complete: boolean;
  readonly feedback: string | null;

  private constructor(complete: boolean, feedback: string | null) {
    this.complete = complete;
    this.feedback = feedback;
  }

  static ok(): TaskCompletionResult {
    return new TaskCompletionResult(true, null);
  }

  static incomplete(feedback: string): TaskCompletionResult {
    return new TaskCompletionResult(false, feedback);
  }
}

/**
 * No result yet, for example while a CI pipeline runs. The stop stays open, the worker's view shows the reason, and the
 * service asks again until the check's `timeout`.
 */
export type PendingResult = {
  readonly pending: true;
  readonly reason?: string;
  /** Delay before the next request, in milliseconds. Default 10,000; clamped to 1,000–600,000. */
  readonly retryAfterMs?: number;
};

/** Any of these forms. In a plain `{ complete, reason, feedback }`, the agent sees `feedback` as data. */
export type CheckReply =
  | StopHookResult
  | PendingResult
  | ValidationResult
  | TaskCompletionResult
  | { readonly complete: boolean; readonly reason: string; readonly feedback?: unknown };

const actionSchema = z.object({
  action: z.enum(['complete', 'continue', 'escalate']),
  reason: z.string(),
  nextPrompt: z.string().nullish(),
  checkpointData: z.unknown().optional(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
});
const pendingSchema = z.object({
  pending: z.literal(true),
  reason: z.string().nullish(),
  retryAfterMs: z.number().positive().nullish(),
});
const completeSchema = z.object({
  complete: z.boolean(),
  reason: z.string().nullish(),
  feedback: z.unknown().optional(),
});

/** @returns the reply as JSON. @throws AppError check.failed if `result` has none of these forms */
export function encodeReply(result: unknown): string {
  const has = (field: string) => typeof result === 'object' && result !== null && field in result;
  const isAction = has('action');
  const isPending = has('pending') && (result as { pending: unknown }).pending !== false;
  const parsed = (isPending ? pendingSchema : isAction ? actionSchema : completeSchema).safeParse(result);
  if (!parsed.success) {
    const forms = '{ action, reason }, { complete, reason } or { pending: true, reason }';
    throw new AppError(
      'check.failed',
      `the check did not return a result (${forms}): ${describeIssues(toIssues(parsed.error, result))}`,
    );
  }
  const fields: Record<string, unknown> = { ...parsed.data };
  // The feedback of a TaskCompletionResult is its reason.
  if (!isAction && fields.reason == null && typeof fields.feedback === 'string') {
    fields.reason = fields.feedback;
    fields.feedback = undefined;
  }
  for (const [name, value] of Object.entries(fields)) if (value == null) delete fields[name];
  return JSON.stringify(fields);
}
