/** The hooks that a task has: changed by entries, and confirmed by the task's view, since an entry may be refused. */
import type { HookForm, TaskView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { newId } from '../nats/id.ts';
import type { Publish } from './entries.ts';
import type { Queries } from './queries.ts';

export type HookType = HookForm['type'];
export type HookOptions = {
  /** Default: generated. */
  readonly hookId?: string;
  /** The hook runs only if all of these conditions hold. */
  readonly when?: NonNullable<HookForm['when']>;
  /** The effect of an error of the hook; default: escalate. */
  readonly onError?: 'escalate' | 'skip';
  /** Default: true. */
  readonly enabled?: boolean;
  readonly metadata?: Record<string, unknown>;
};
/** `of`: the members of `all` and `any`; `name`: the check that a `remote` hook runs. */
export type HookRegistration = HookOptions & {
  readonly taskId: string;
  readonly hookType: HookType;
  readonly of?: HookForm[];
  readonly name?: string;
};
export type RegisteredHook = {
  readonly hookId: string;
  readonly taskId: string;
  readonly hookType: HookType;
  readonly enabled: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
};
export type HookState = { readonly taskId: string; readonly hookId: string; readonly enabled: boolean };

type HookViews = TaskView['hooks'];

/** @throws AppError entry.refused */
export type HookRegistry = {
  register(registration: HookRegistration): Promise<RegisteredHook>;
  setEnabled(taskId: string, hookId: string, enabled: boolean): Promise<HookState>;
  /** The id is free again. */
  unregister(taskId: string, hookId: string): Promise<HookState>;
  /** Returns the hooks of a task; empty for an unknown one. */
  list(taskId: string): Promise<HookViews>;
  /** @returns how many hooks there were */
  clear(taskId: string): Promise<number>;
};

export function createHookRegistry(publish: Publish, getTask: Queries['getTask']): HookRegistry {
  const confirm = async (taskId: string, type: string, isApplied: (hooks: HookViews) => boolean) => {
    const { hooks, refused } = await getTask(taskId);
    if (isApplied(hooks)) return;
    const reason = refused.findLast((it) => it.type === type)?.reason ?? 'the task does not show it';
    throw new AppError('entry.refused', `'${type}' of task '${taskId}': ${reason}`);
  };
  const list = async (taskId: string): Promise<HookViews> => {
    try {
      return (await getTask(taskId)).hooks;
    } catch (error) {
      if (error instanceof AppError && error.code === 'actor.unknown') return [];
      throw error;
    }
  };
  return {
    list,
    async register({ taskId, hookType, hookId = `HOOK-${newId()}`, enabled = true, metadata = {}, ...rest }) {
      const { of, name, when, onError } = rest;
      await publish('task', taskId, 'hook.registered', {
        hook: hookId,
        type: hookType,
        enabled,
        metadata,
        of,
        name,
        when,
        onError,
      });
      await confirm(taskId, 'hook.registered', (hooks) =>
        hooks.some((it) => it.hook === hookId && it.type === hookType),
      );
      return { hookId, taskId, hookType, enabled, metadata };
    },
    async setEnabled(taskId, hookId, enabled) {
      await getTask(taskId); // one that is unknown is an error of its own
      const type = enabled ? 'hook.enabled' : 'hook.disabled';
      await publish('task', taskId, type, { hook: hookId });
      await confirm(taskId, type, (hooks) => hooks.some((it) => it.hook === hookId && it.enabled === enabled));
      return { taskId, hookId, enabled };
    },
    async unregister(taskId, hookId) {
      await getTask(taskId);
      await publish('task', taskId, 'hook.unregistered', { hook: hookId });
      return { taskId, hookId, enabled: false };
    },
    async clear(taskId) {
      const { length: count } = await list(taskId);
      if (count > 0) {
        await publish('task', taskId, 'hooks.cleared');
        await confirm(taskId, 'hooks.cleared', (hooks) => hooks.length === 0);
      }
      return count;
    },
  };
}
