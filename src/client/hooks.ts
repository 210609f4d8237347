/** Task hooks (protocol.md §7) with the names and results of seed 001. */

import { createHash } from 'node:crypto';
import { newId } from '../nats/id.ts';
import { checkId } from '../service/parse-input.ts';
import type { Publish } from './entries.ts';
import {
  createHookRegistry,
  type HookOptions,
  type HookRegistration,
  type HookRegistry,
  type HookState,
  type HookType,
  type RegisteredHook,
} from './hook-registry.ts';
import type { Queries } from './queries.ts';
import type { CheckFunction, Serve, ServedCheck, ServeOptions } from './serve-check.ts';

export type HookList = {
  readonly taskId: string;
  readonly hookCount: number;
  readonly hooks: readonly {
    readonly id: string;
    readonly enabled: boolean;
    /** The registered metadata plus the hook's type, which is `custom` for hooks of `registerStopHook`. */
    readonly metadata: { readonly type: string; readonly [key: string]: unknown };
  }[];
};
/** Each call resolves when the task's view shows the change. @throws StopgateError entry.refused with the reason */
export type Hooks = {
  registerHook(registration: HookRegistration): Promise<RegisteredHook>;
  /**
   * Registers a function as a hook. The hook is stored in the log and outlives this process; the function does not.
   * While no process serves it, the hook fails. Other processes can serve it under the same `taskId` and `hookId`, even
   * at the same time.
   */
  readonly registerStopHook: StopHooks['register'];
  /** Removes the hook from its task, frees its id and stops serving it. */
  readonly unregisterStopHook: StopHooks['unregister'];
  /** Evaluates promises first, then validation rules. */
  createDefaultHook(taskId: string, options?: HookOptions): Promise<string>;
  createValidationHook(taskId: string, options?: HookOptions): Promise<string>;
  createPromiseHook(taskId: string, options?: HookOptions): Promise<string>;
  /** Template: requires the rule `tests_pass`. */
  createTddHook(taskId: string, options?: HookOptions): Promise<string>;
  /** Template: requires the rules `vulns_fixed` and `sast_clean`. */
  createSecurityHook(taskId: string, options?: HookOptions): Promise<string>;
  /** Template: requires a checkpoint at the iteration `metadata.at`. */
  createCheckpointHook(taskId: string, options?: HookOptions): Promise<string>;
  /** Lists the hooks of a task; empty for an unknown task. */
  listHooks(taskId: string): Promise<HookList>;
  clearHooks(taskId: string): Promise<{ readonly taskId: string; readonly hooksCleared: number }>;
  /** Removes one hook from its task. @throws StopgateError entry.refused if the task has no such hook */
  unregisterHook(taskId: string, hookId: string): Promise<HookState>;
  enableHook(taskId: string, hookId: string): Promise<HookState>;
  disableHook(taskId: string, hookId: string): Promise<HookState>;
};

export type HookDependencies = {
  readonly publish: Publish;
  readonly getTask: Queries['getTask'];
  readonly serve: Serve;
};

export function createHooks({ publish, getTask, serve }: HookDependencies): Hooks {
  const registry = createHookRegistry(publish, getTask);
  const stopHooks = createStopHooks(registry, serve);
  const create = (hookType: HookType) => async (taskId: string, options?: HookOptions) =>
    (await registry.register({ ...options, taskId, hookType })).hookId;
  return {
    registerHook: registry.register,
    registerStopHook: stopHooks.register,
    unregisterStopHook: stopHooks.unregister,
    createDefaultHook: create('default'),
    createValidationHook: create('validation'),
    createPromiseHook: create('promise'),
    createTddHook: create('tdd'),
    createSecurityHook: create('security'),
    createCheckpointHook: create('checkpoint'),
    async listHooks(taskId) {
      const hooks = (await registry.list(taskId)).map(({ hook, enabled, type, metadata }) => ({
        id: hook,
        enabled,
        metadata: { ...metadata, type: type === 'remote' ? 'custom' : type },
      }));
      return { taskId, hookCount: hooks.length, hooks };
    },
    async clearHooks(taskId) {
      const hooksCleared = await registry.clear(taskId);
      await stopHooks.stopServing({ taskId });
      return { taskId, hooksCleared };
    },
    unregisterHook: stopHooks.unregister,
    enableHook: (taskId, hookId) => registry.setEnabled(taskId, hookId, true),
    disableHook: (taskId, hookId) => registry.setEnabled(taskId, hookId, false),
  };
}

// Function hooks: each is a remote hook of its task plus a check served by this process.

type StopHooks = {
  /** @returns the id of the hook */
  register(
    registration: HookOptions & ServeOptions & { readonly taskId: string },
    hook: CheckFunction,
  ): Promise<string>;
  /** Removes the hook from its task and stops serving it. */
  unregister(taskId: string, hookId: string): Promise<HookState>;
  /** Stops serving one hook of a task, or all of them. */
  stopServing(which: { readonly taskId: string; readonly hookId?: string }): Promise<void>;
};

function createStopHooks(registry: HookRegistry, serve: Serve): StopHooks {
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
      // Serve first, so that a stop right after the registration finds a server.
      const check = await serve(name, hook, withoutUndefined({ timeoutMs, concurrency, roots }));
      try {
        const exists = (await registry.list(taskId)).some(
          (listed) => listed.hook === hookId && listed.type === 'remote',
        );
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

/** Returns the check name of a hook: unique per task and hook, and equal in every process. */
function checkNameOf(taskId: string, hookId: string): string {
  const digest = createHash('sha256').update(`${taskId} ${hookId}`).digest('hex').slice(0, 16);
  return `${hookId.slice(0, 100)}-${digest}`;
}

function withoutUndefined(options: { [Name in keyof ServeOptions]: ServeOptions[Name] | undefined }): ServeOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
