/** The request to a runner and its result. Plain JSON both ways, since it may go over the wire. */
import { z } from 'zod';
import { gitRefSchema, globSchema, idSchema, type UsageReport } from '../../machines/index.ts';

/** `cwd`: the worker's own folder, absolute. `timeoutMs`: the check's own; null: the command's, or 120 s. */
const shared = {
  cwd: z
    .string()
    .nullish()
    .transform((cwd) => cwd ?? null),
  timeoutMs: z
    .int()
    .positive()
    .nullish()
    .transform((timeoutMs) => timeoutMs ?? null),
};
/** For the command's environment: STOPGATE_WORKER, STOPGATE_TASK, STOPGATE_ATTEMPT and STOPGATE_FLEET. */
const ids = z.object({
  fleet: idSchema.nullish(),
  worker: idSchema.nullish(),
  task: idSchema.nullish(),
  attempt: idSchema.nullish(),
});
export type RunIds = z.infer<typeof ids>;
/** The request of a remote check (protocol.md §8), for a command that speaks JSON. */
const questionSchema = z.record(z.string(), z.unknown()).optional();
/** The request as it comes over the wire: optional fields may be left out, unknown ones are ignored. */
export const runRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('command'), name: z.string(), env: ids.default({}), question: questionSchema, ...shared }),
  z.object({ kind: z.literal('files'), files: z.array(z.string()).readonly(), ...shared }),
  z.object({
    kind: z.literal('git'),
    clean: z.boolean().default(false),
    pushed: z.boolean().default(false),
    /** Files that match one of these globs must be as in `since`; null: as in the merge base with the upstream. */
    unchanged: z.array(globSchema).readonly().default([]),
    since: gitRefSchema.nullish(),
    /** The worker whose place the check takes; null: nobody knows. */
    worker: idSchema.nullish(),
    ...shared,
  }),
]);
export type RunRequest = z.infer<typeof runRequestSchema>;

/**
 * What a check found. `fail`: the check says no. `error`: it could not be judged. `pending`: a command that speaks JSON has
 * no result yet, and is to be run again after `retryAfterMs`. Only a pass may lack a `reason`. `feedback`: text or JSON, 32 KiB
 * at most. `action` to `metadata`: from the reply of a command that speaks JSON; `metadata.reused`: the time of the run whose
 * pass is reused. `usage`: what that command says it used.
 */
export type Finding = {
  readonly outcome: 'pass' | 'fail' | 'error' | 'timeout' | 'pending';
  readonly reason?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly feedback?: unknown;
  readonly action?: 'complete' | 'continue' | 'escalate' | undefined;
  readonly nextPrompt?: string | undefined;
  readonly checkpointData?: unknown;
  readonly metadata?: { readonly reused?: string; readonly [key: string]: unknown } | undefined;
  readonly usage?: UsageReport | undefined;
};
/** `tookMs`: to 0.1 ms, without the wait for a place. */
export type RunResult = Finding & { readonly tookMs: number };

export const cancelled: Finding = { outcome: 'error', reason: 'cancelled' };

/** A name from outside, for a message: quoted and escaped, 200 characters at most. */
export const quote = (name: string) => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);

/** Adds how long `work` takes from now on. */
export async function timed(work: Promise<Finding>): Promise<RunResult> {
  const startedMs = performance.now();
  const finding = await work;
  return { ...finding, tookMs: Math.round((performance.now() - startedMs) * 10) / 10 };
}
