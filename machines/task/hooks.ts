/** Hooks: conditions that were registered on the task, in order (protocol.md §7). */
import type { HookForm } from '../entries/hook.ts';
import type { Hook } from '../guards/task-hooks/hook.ts';
import type { TaskContext } from './context.ts';
import type { On } from './events.ts';

export function registerHook(context: TaskContext, { data }: On<'hook.registered'>): Partial<TaskContext> {
  const { hook, enabled, ...form } = data;
  return {
    hooks: [...context.hooks, { hook: hook ?? freeHookId(context), enabled: enabled ?? true, form: form as HookForm }],
  };
}

/** The id of a hook that was registered without one. */
function freeHookId({ hooks }: TaskContext): string {
  for (let count = hooks.length + 1; ; count += 1) {
    const id = `hook-${count}`;
    if (!hooks.some((it) => it.hook === id)) return id;
  }
}

export const enableHook = (hooks: readonly Hook[], id: string, enabled: boolean) =>
  hooks.map((it) => (it.hook === id ? { ...it, enabled } : it));
