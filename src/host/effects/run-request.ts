/** A request to a runner: in this process, or elsewhere as JSON. */
import { z } from 'zod';
import { gitRefSchema, globSchema, idSchema } from '../../../machines/index.ts';

/**
 * `cwd` is the worker's folder, an absolute path. `timeoutMs` is that of the check; null for the command's, or 120 s.
 */
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
/** The command's environment: STOPGATE_FLEET, STOPGATE_WORKER, STOPGATE_TASK and STOPGATE_ATTEMPT. */
const ids = z.object({
  fleet: idSchema.nullish(),
  worker: idSchema.nullish(),
  task: idSchema.nullish(),
  attempt: idSchema.nullish(),
});
export type RunIds = z.infer<typeof ids>;
/**
 * The question of a remote check (protocol.md §8), for a command that speaks JSON. Created on demand: only the runner
 * knows whether the command does, and the question of a large attempt takes milliseconds to build.
 */
const questionSchema = z
  .record(z.string(), z.unknown())
  .transform((question) => (): object => question)
  .optional();
/** The request on the wire. Optional fields may be missing; unknown ones are ignored. */
export const runRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('command'), name: z.string(), env: ids.default({}), question: questionSchema, ...shared }),
  z.object({ kind: z.literal('files'), files: z.array(z.string()).readonly(), ...shared }),
  z.object({
    kind: z.literal('git'),
    clean: z.boolean().default(false),
    pushed: z.boolean().default(false),
    /**
     * Files that match one of these globs must be as in `since`, or, if that is null, as in the merge base with the
     * upstream.
     */
    unchanged: z.array(globSchema).readonly().default([]),
    since: gitRefSchema.nullish(),
    /** The worker that the check is for, used to share slots fairly. Null if unknown. */
    worker: idSchema.nullish(),
    ...shared,
  }),
]);
export type RunRequest = z.infer<typeof runRequestSchema>;

/** Returns the request as JSON. A remote runner reads it with `runRequestSchema`. */
export const formatRunRequest = (request: RunRequest): string =>
  JSON.stringify(request.kind === 'command' ? { ...request, question: request.question?.() } : request);
