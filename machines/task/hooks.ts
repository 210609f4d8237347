/** Hooks: conditions registered on the task, in order (protocol.md §7). */
import type { HookForm } from '../entries/task.ts';
import type { Hook } from '../guards/task-hooks/hook.ts';
import { toJsonText } from '../values/text.ts';
import { empty, type TaskContext } from './context.ts';
import type { TaskEventBase, TaskEventOf } from './events.ts';
import { reviewEvaluations } from './iteration.ts';

/** Changes the hooks, and judges open evaluations again. */
const withHooks = (context: TaskContext, hooks: readonly Hook[], event: TaskEventBase): TaskContext =>
  reviewEvaluations({ ...context, hooks }, event);

export function registerHook(context: TaskContext, event: TaskEventOf<'hook.registered'>): TaskContext {
  const { hook, enabled, ...form } = event.data;
  const { metadata } = form;
  const added: Hook = {
    hook: hook ?? freeHookId(context),
    enabled: enabled ?? true,
    form: withoutMetadata(form as HookForm),
    metadata: metadata === undefined ? null : toJsonText(metadata),
  };
  return withHooks(context, [...context.hooks, added], event);
}

/** Drops metadata, except the field that checkpoint hooks read. */
function withoutMetadata({ metadata, of, ...form }: HookForm): HookForm {
  return {
    ...form,
    ...(of === undefined ? {} : { of: of.map(withoutMetadata) }),
    ...(typeof metadata?.at === 'number' ? { metadata: { at: metadata.at } } : {}),
  };
}

/** Returns an unused id for a hook registered without one. */
function freeHookId({ hooks }: TaskContext): string {
  for (let count = hooks.length + 1; ; count += 1) {
    const id = `hook-${count}`;
    if (!hooks.some((known) => known.hook === id)) return id;
  }
}

export const enableHook = (context: TaskContext, event: TaskEventOf<'hook.enabled' | 'hook.disabled'>): TaskContext =>
  withHooks(
    context,
    context.hooks.map((known) =>
      known.hook === event.data.hook ? { ...known, enabled: event.type === 'hook.enabled' } : known,
    ),
    event,
  );

/** Removes a hook and frees its id. */
export const removeHook = (context: TaskContext, event: TaskEventOf<'hook.unregistered'>): TaskContext =>
  withHooks(
    context,
    context.hooks.filter((known) => known.hook !== event.data.hook),
    event,
  );

export const removeHooks = (context: TaskContext, event: TaskEventBase): TaskContext =>
  withHooks(context, empty, event);
