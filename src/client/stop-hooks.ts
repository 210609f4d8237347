/** Hooks that are functions of this process: each is a remote hook of its task, and a check that we serve for it. */
import { createHash } from 'node:crypto';
import { newId } from '../nats/id.ts';
import { checkId } from '../service/parse-input.ts';
import type { HookOptions, HookRegistry, HookState } from './hook-registry.ts';
import type { CheckFunction, ServedCheck, ServeOptions } from './serve-check.ts';
import type { Serve } from './served-checks.ts';

export type StopHooks = {
  /** @returns the id of the hook */
  register(
    registration: HookOptions & ServeOptions & { readonly taskId: string },
    hook: CheckFunction,
  ): Promise<string>;
  /** Takes the hook from its task and stops serving it. */
  unregister(taskId: string, hookId: string): Promise<HookState>;
  /** One hook of a task, or all of them. */
  stopServing(which: { readonly taskId: string; readonly hookId?: string }): Promise<void>;
};

export function createStopHooks(registry: HookRegistry, serve: Serve): StopHooks {
  const served = new Map<string, { readonly taskId: string; readonly hookId: string; readonly check: ServedCheck }>();
  const stopServing: StopHooks['stopServing'] = async (which) => {
    for (const [name, { taskId, hookId, check }] of served) {
      if (taskId !== which.taskId || (which.hookId !== undefined && which.hookId !== hookId)) continue;
      served.delete(name);
      await check.close();
    }
  };
  return {
    stopServing,
    async register({ timeoutMs, concurrency, roots, ...registration }, hook) {
      const { taskId, hookId = `HOOK-${newId()}` } = registration;
      checkId('task', taskId);
      checkId('hook', hookId);
      const name = checkNameOf(taskId, hookId);
      // Served before it is registered, so that a stop in between finds it.
      const check = await serve(name, hook, withoutUndefined({ timeoutMs, concurrency, roots }));
      try {
        const exists = (await registry.list(taskId)).some((it) => it.hook === hookId && it.type === 'remote');
        if (!exists) await registry.register({ ...registration, hookId, hookType: 'remote', name });
      } catch (error) {
        await check.close();
        throw error;
      }
      served.set(name, { taskId, hookId, check });
      return hookId;
    },
    async unregister(taskId, hookId) {
      const state = await registry.unregister(taskId, hookId);
      await stopServing({ taskId, hookId });
      return state;
    },
  };
}

/** Unique to each hook of each task, and the same in every process. */
function checkNameOf(taskId: string, hookId: string): string {
  const digest = createHash('sha256').update(`${taskId} ${hookId}`).digest('hex').slice(0, 16);
  return `${hookId.slice(0, 100)}-${digest}`;
}

function withoutUndefined(options: { [Name in keyof ServeOptions]: ServeOptions[Name] | undefined }): ServeOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
