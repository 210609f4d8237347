/** `hook.*`: conditions that are registered on a task at run time (protocol.md §7). */
import { z } from 'zod';
import { conditionSchema } from '../policy/condition.ts';
import { nestingDepth, nestingMax } from '../policy/nesting.ts';
import { idSchema } from '../values/schemas.ts';
import { metadata, noFields } from './fields.ts';

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

/** All hooks within a hook, at every depth. */
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
  const isGroup = hook.type === 'all' || hook.type === 'any';
  const fault =
    isGroup && hook.of === undefined
      ? `type "${hook.type}" needs "of"`
      : hook.type === 'remote' && hook.name === undefined
        ? 'type "remote" needs "name"'
        : nestingDepth(hook, (it) => it.of) > nestingMax
          ? `hooks may nest ${nestingMax} deep`
          : null;
  if (fault !== null) context.addIssue({ code: 'custom', message: fault });
}

export const hookRegistered = z
  .object({ ...hookFields, hook: idSchema.optional(), enabled: z.boolean().optional() })
  .superRefine(checkForm);
export const hookEnabled = z.object({ hook: idSchema });
export const hookDisabled = z.object({ hook: idSchema });
export const hookUnregistered = z.object({ hook: idSchema });
export const hooksCleared = noFields;
