/** Hooks: conditions that were registered on the task, in order (protocol.md §7). */
import type { HookForm } from '../entries/task.ts';
import type { Hook } from '../guards/task-hooks/hook.ts';
import { toJsonText } from '../values/text.ts';
import { empty, type On, type Place, type TaskContext } from './context.ts';
import { reviewEvaluations } from './iteration.ts';

/** Changes the hooks, and evaluates again what waits for one of them. */
const rehook = (context: TaskContext, hooks: readonly Hook[], event: Place): TaskContext =>
  reviewEvaluations({ ...context, hooks }, event);

export function registerHook(context: TaskContext, event: On<'hook.registered'>): TaskContext {
  const { hook, enabled, ...form } = event.data;
  const { metadata } = form;
  const added: Hook = {
    hook: hook ?? freeHookId(context),
    enabled: enabled ?? true,
    form: withoutMetadata(form as HookForm),
    metadata: metadata === undefined ? null : toJsonText(metadata),
  };
  return rehook(context, [...context.hooks, added], event);
}

/** Fields that no type reads are left out. */
function withoutMetadata({ metadata, of, ...form }: HookForm): HookForm {
  return {
    ...form,
    ...(of === undefined ? {} : { of: of.map(withoutMetadata) }),
    ...(typeof metadata?.at === 'number' ? { metadata: { at: metadata.at } } : {}),
  };
}

/** The id of a hook that was registered without one. */
function freeHookId({ hooks }: TaskContext): string {
  for (let count = hooks.length + 1; ; count += 1) {
    const id = `hook-${count}`;
    if (!hooks.some((it) => it.hook === id)) return id;
  }
}

export const enableHook = (context: TaskContext, event: On<'hook.enabled' | 'hook.disabled'>): TaskContext =>
  rehook(
    context,
    context.hooks.map((it) => (it.hook === event.data.hook ? { ...it, enabled: event.type === 'hook.enabled' } : it)),
    event,
  );

/** The id of the hook is free again. */
export const removeHook = (context: TaskContext, event: On<'hook.unregistered'>): TaskContext =>
  rehook(
    context,
    context.hooks.filter((it) => it.hook !== event.data.hook),
    event,
  );

export const removeHooks = (context: TaskContext, event: Place): TaskContext => rehook(context, empty, event);
