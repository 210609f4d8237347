/** A request to a runner: to the one in this process, or as JSON to one elsewhere. */
import { z } from 'zod';
import { gitRefSchema, globSchema, idSchema } from '../../../machines/index.ts';

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
/**
 * The request of a remote check (protocol.md §8), for a command that speaks JSON. Only the runner knows whether the command
 * does, and the question of a large attempt takes milliseconds to make, so it is made when it is needed.
 */
const questionSchema = z
  .record(z.string(), z.unknown())
  .transform((question) => (): object => question)
  .optional();
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

/** The request as JSON. The runner elsewhere reads it by `runRequestSchema`. */
export const formatRunRequest = (request: RunRequest): string =>
  JSON.stringify(request.kind === 'command' ? { ...request, question: request.question?.() } : request);
