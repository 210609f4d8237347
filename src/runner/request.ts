/** The request to a runner and its result. Plain JSON both ways, since it may go over the wire. */
import { z } from 'zod';
import { gitRefSchema, globSchema, idSchema } from '../../machines/index.ts';

/** For the command's environment: STOPGATE_WORKER, STOPGATE_TASK, STOPGATE_ATTEMPT and STOPGATE_FLEET. */
export type RunIds = {
  readonly fleet?: string | null | undefined;
  readonly worker?: string | null | undefined;
  readonly task?: string | null | undefined;
  readonly attempt?: string | null | undefined;
};

/** `cwd`: the worker's own folder, absolute. `timeoutMs`: the check's own; null: the command's, or 120 s. */
type Shared = { readonly cwd: string | null; readonly timeoutMs: number | null };
export type RunRequest =
  | (Shared & { readonly kind: 'command'; readonly name: string; readonly env: RunIds })
  | (Shared & { readonly kind: 'files'; readonly files: readonly string[] })
  | (Shared & {
      readonly kind: 'git';
      readonly clean: boolean;
      readonly pushed: boolean;
      /** Files that match one of these globs must be as in `since`; null: as in the merge base with the upstream. */
      readonly unchanged?: readonly string[] | undefined;
      readonly since?: string | null | undefined;
      /** The worker whose place the check takes; null: nobody knows. */
      readonly worker?: string | null | undefined;
    });

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
const ids = z.object({
  fleet: idSchema.nullish(),
  worker: idSchema.nullish(),
  task: idSchema.nullish(),
  attempt: idSchema.nullish(),
});
/** The request as it comes over the wire: optional fields may be left out, unknown ones are ignored. */
export const runRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('command'), name: z.string(), env: ids.default({}), ...shared }),
  z.object({ kind: z.literal('files'), files: z.array(z.string()), ...shared }),
  z.object({
    kind: z.literal('git'),
    clean: z.boolean().default(false),
    pushed: z.boolean().default(false),
    unchanged: z.array(globSchema).default([]),
    since: gitRefSchema.nullish(),
    worker: idSchema.nullish(),
    ...shared,
  }),
]) satisfies z.ZodType<RunRequest>;

/**
 * `fail`: the check says no; `error`: it could not tell. `reason` is missing on a pass only. `feedback`: text, or the
 * JSON of a command, 32 KiB at most. `tookMs`: to 0.1 ms, without the wait for a free place.
 */
export type RunResult = Finding & { readonly tookMs: number };
export type Finding = {
  readonly outcome: 'pass' | 'fail' | 'error' | 'timeout';
  readonly reason?: string;
  readonly feedback?: unknown;
  /** `reused`: when the run was that this pass is taken over from. */
  readonly metadata?: { readonly reused: string };
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
