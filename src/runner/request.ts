/** The request to a runner and its result. Plain JSON both ways, since it may go over the wire. */
import { z } from 'zod';
import {
  gitRefSchema,
  globSchema,
  idSchema,
  judgeApis,
  judgeEndpointSchema,
  keyEnvSchema,
  type UsageReport,
} from '../../machines/index.ts';

/** Everything that is known of the work beside the folder. Lists and texts may have been cut (`truncated`). */
const workSchema = z.object({
  tasks: z.array(z.object({ task: idSchema, title: z.string().nullish() })).default([]),
  plan: z.array(z.object({ title: z.string(), status: z.string() })).default([]),
  filesModified: z.array(z.string()).default([]),
  validation: z.array(z.object({ rule: z.string(), passed: z.boolean(), message: z.string().optional() })).default([]),
  stopReason: z.string().nullish(),
  lastWords: z.string().nullish(),
  draft: z.string().nullish(),
  truncated: z.boolean().optional(),
});
export type JudgedWork = z.infer<typeof workSchema>;

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
/** The request as it comes over the wire: optional fields may be left out, unknown ones are ignored. */
export const runRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('command'), name: z.string(), env: ids.default({}), ...shared }),
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
  z.object({
    kind: z.literal('judge'),
    prompt: z.string().min(1),
    model: z.string().min(1),
    api: z.enum(judgeApis),
    /** The whole URL of the request. */
    endpoint: judgeEndpointSchema,
    /** The variable that holds the key; null: none is sent. */
    keyEnv: keyEnvSchema.nullish(),
    since: gitRefSchema.nullish(),
    worker: idSchema.nullish(),
    work: workSchema,
    ...shared,
  }),
]);
export type RunRequest = z.infer<typeof runRequestSchema>;

/**
 * `fail`: the check says no; `error`: it could not tell. `reason` is missing on a pass only, and a judge's pass has one. `feedback`: text, or the
 * JSON of a command, 32 KiB at most. `usage`: what a judge used. `tookMs`: to 0.1 ms, without the wait for a free place.
 */
export type RunResult = Finding & { readonly tookMs: number };
export type Finding = {
  readonly outcome: 'pass' | 'fail' | 'error' | 'timeout';
  readonly reason?: string;
  readonly feedback?: unknown;
  /** `reused`: when the run was that this pass is taken over from; `model`: which one judged. */
  readonly metadata?: { readonly reused?: string; readonly model?: string };
  readonly usage?: UsageReport;
};

export const cancelled: Finding = { outcome: 'error', reason: 'cancelled' };

/** A name from outside, for a message: quoted and escaped, 200 characters at most. */
export const quote = (name: string) => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);

/** Adds how long `work` takes from now on. */
export async function timed(work: Promise<Finding>): Promise<RunResult> {
  const startedMs = performance.now();
  const finding = await work;
  return { ...finding, tookMs: Math.round((performance.now() - startedMs) * 10) / 10 };
}
