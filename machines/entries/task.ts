/** Schemas of entries about tasks, their hooks, iterations and checkpoints, and about queues (protocol.md §3). */
import { z } from 'zod';
import { rulesSchema } from '../policy/checks/check-result.ts';
import { nestingDepth, nestingMax } from '../policy/checks/form.ts';
import { conditionSchema } from '../policy/condition.ts';
import { promiseNames } from '../policy/promise.ts';
import { afterMax } from '../values/limits.ts';
import { idSchema, metadata, noFields, title } from '../values/schemas.ts';
import { attemptSchema, stepsSchema } from './worker.ts';

// `task.*`: published about the task itself, or by the worker that claims or gives up the task.

export const taskCreated = z.object({
  title: title.optional(),
  queue: idSchema.optional(),
  plan: stepsSchema.optional(),
  policy: idSchema.optional(),
  after: z.array(idSchema).max(afterMax).optional(),
  priority: z.int().optional(),
});
export const taskCancelled = z.object({ reason: title.optional() });

export const taskClaimed = z.object({ task: idSchema, request: idSchema.optional() });
export const taskCompleted = z.object({ task: idSchema, result: z.unknown().optional() });
export const taskFailed = z.object({ task: idSchema, reason: title.optional() });
export const taskReleased = z.object({ task: idSchema });

/** The types of `hook.registered`: conditions registered on a task at run time (protocol.md §7). */
export const hookTypes = [
  'default',
  'validation',
  'promise',
  'remote',
  'all',
  'any',
  'tdd',
  'security',
  'checkpoint',
] as const;

export type HookForm = {
  type: (typeof hookTypes)[number];
  of?: HookForm[] | undefined;
  name?: string | undefined;
  when?: z.infer<ReturnType<typeof conditionSchema>> | undefined;
  onError?: 'escalate' | 'skip' | undefined;
  metadata?: Record<string, unknown> | undefined;
};

/** Counts the hooks within a hook at every depth. */
export const membersWithin = (hook: Pick<HookForm, 'of'>): number =>
  (hook.of ?? []).reduce((sum, member) => sum + 1 + membersWithin(member), 0);

const hookFields = {
  type: z.enum(hookTypes),
  get of() {
    return z.array(hookForm).min(1).optional();
  },
  name: idSchema.optional(),
  when: conditionSchema((shape) => z.object(shape)).optional(),
  onError: z.enum(['escalate', 'skip']).optional(),
  metadata: metadata.optional(),
};
const hookForm: z.ZodType<HookForm> = z.lazy(() => z.object(hookFields).superRefine(checkForm)) as never;

function checkForm(hook: HookForm, context: z.RefinementCtx): void {
  const message = faultOf(hook);
  if (message !== null) context.addIssue({ code: 'custom', message });
}

function faultOf(hook: HookForm): string | null {
  const isGroup = hook.type === 'all' || hook.type === 'any';
  if (isGroup && hook.of === undefined) return `type "${hook.type}" needs "of"`;
  if (hook.type === 'remote' && hook.name === undefined) return 'type "remote" needs "name"';
  return nestingDepth(hook, (nested) => nested.of) > nestingMax ? `hooks may nest ${nestingMax} deep` : null;
}

export const hookRegistered = z
  .object({ ...hookFields, hook: idSchema.optional(), enabled: z.boolean().optional() })
  .superRefine(checkForm);
export const hookEnabled = z.object({ hook: idSchema });
export const hookDisabled = z.object({ hook: idSchema });
export const hookUnregistered = z.object({ hook: idSchema });
export const hooksCleared = noFields;

// `iteration.*`: the rounds of a loop that works on a task (protocol.md §7).

const iteration = z.int().positive();

export const iterationStarted = z.object({
  iteration,
  maxIterations: iteration,
  completionPromises: z.array(z.enum(promiseNames)).optional(),
  rules: rulesSchema.optional(),
  breakers: z.object({ failures: z.int().positive().optional() }).optional(),
});
export const iterationValidated = attemptSchema.extend({ iteration });
export const iterationAdvanced = noFields;
export const iterationCompleted = z.object({ iteration, promise: z.enum(promiseNames) });

/** `checkpoint.saved`: a point from which work on a task can be resumed. */
export const checkpointSaved = z.object({
  checkpoint: idSchema,
  phase: z.string().optional(),
  step: z.union([z.string(), z.number()]).optional(),
  context: z.unknown().optional(),
});

/** `depth.reported`: the number of unclaimed tasks in an external queue. */
export const depthReported = z.object({ pending: z.int().nonnegative() });
