/** Hooks on a task (protocol 7), by the names and with the outputs of seed 001. */
import { createHash } from 'node:crypto';
import type { HookForm, TaskView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { newId } from '../nats/id.ts';
import { checkId } from '../parse-input.ts';
import type { Publish } from './entries.ts';
import type { Reads } from './reads.ts';
import type { CheckFunction, ServedCheck, ServeOptions } from './serve-check.ts';
import type { Serve } from './serving.ts';

export type HookType = HookForm['type'];
export type HookOptions = {
  /** Default: made up. */
  readonly hookId?: string;
  /** Conditions under which it is asked at all. */
  readonly when?: NonNullable<HookForm['when']>;
  /** What an error of it means; default: escalate. */
  readonly onError?: 'escalate' | 'skip';
  /** True by default. */
  readonly enabled?: boolean;
  readonly metadata?: Record<string, unknown>;
};
/** `of`: members of `all` and `any`; `name`: the check that a `remote` one asks. */
export type HookOrder = HookOptions & {
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
export type HookList = {
  readonly taskId: string;
  readonly hookCount: number;
  readonly hooks: readonly {
    readonly id: string;
    readonly enabled: boolean;
    readonly metadata: { readonly type: string };
  }[];
};
export type HookState = { readonly taskId: string; readonly hookId: string; readonly enabled: boolean };

/** Each resolves when the task shows it. @throws StopgateError entry.refused, with the task's reason */
export type Hooks = {
  registerHook(order: HookOrder): Promise<RegisteredHook>;
  /**
   * Registers a function. The hook is an entry and outlives this process; the function does not: while nobody serves
   * it, it is in error. Another process takes it up by the same `taskId` and `hookId`, also beside this one.
   */
  registerStopHook(
    order: HookOptions & ServeOptions & { readonly taskId: string },
    hook: CheckFunction,
  ): Promise<string>;
  /** Disables it and stops serving it. Removed it is by `clearHooks`, and by the end of its task. */
  unregisterStopHook(taskId: string, hookId: string): Promise<HookState>;
  /** Promises first, then validation. */
  createDefaultHook(taskId: string, options?: HookOptions): Promise<string>;
  createValidationHook(taskId: string, options?: HookOptions): Promise<string>;
  createPromiseHook(taskId: string, options?: HookOptions): Promise<string>;
  /** Templates: `tests_pass`; `vulns_fixed` and `sast_clean`; a checkpoint at `metadata.at`. */
  createTddHook(taskId: string, options?: HookOptions): Promise<string>;
  createSecurityHook(taskId: string, options?: HookOptions): Promise<string>;
  createCheckpointHook(taskId: string, options?: HookOptions): Promise<string>;
  /** A task that nobody has named has none. */
  listHooks(taskId: string): Promise<HookList>;
  clearHooks(taskId: string): Promise<{ readonly taskId: string; readonly hooksCleared: number }>;
  enableHook(taskId: string, hookId: string): Promise<HookState>;
  disableHook(taskId: string, hookId: string): Promise<HookState>;
};

type Means = { readonly publish: Publish; readonly getTask: Reads['getTask']; readonly serve: Serve };

export function createHooks({ publish, getTask, serve }: Means): Hooks {
  const served = new Map<string, { readonly taskId: string; readonly check: ServedCheck }>();
  const stopServing = async (belongs: (key: string, taskId: string) => boolean) => {
    for (const [key, { taskId, check }] of served) {
      if (!belongs(key, taskId)) continue;
      served.delete(key);
      await check.close();
    }
  };
  const hooksOf = async (taskId: string): Promise<TaskView['hooks']> => {
    try {
      return (await getTask(taskId)).hooks;
    } catch (error) {
      if (error instanceof AppError && error.code === 'actor.unknown') return [];
      throw error;
    }
  };
  const confirm = async (taskId: string, type: string, isSo: (hooks: TaskView['hooks']) => boolean) => {
    const { hooks, refused } = await getTask(taskId);
    if (isSo(hooks)) return;
    const reason = refused.findLast((it) => it.type === type)?.reason ?? 'the task does not show it';
    throw new AppError('entry.refused', `'${type}' of task '${taskId}': ${reason}`);
  };
  const registerHook: Hooks['registerHook'] = async (order) => {
    const { taskId, hookType, hookId = `HOOK-${newId()}`, enabled = true, metadata = {}, ...more } = order;
    const { of, name, when, onError } = more;
    await publish('task', taskId, 'hook.registered', {
      ...{ hook: hookId, type: hookType, enabled, metadata, of, name, when, onError },
    });
    await confirm(taskId, 'hook.registered', (hooks) => hooks.some((it) => it.hook === hookId && it.type === hookType));
    return { hookId, taskId, hookType, enabled, metadata };
  };
  const create = (hookType: HookType) => async (taskId: string, options?: HookOptions) =>
    (await registerHook({ ...options, taskId, hookType })).hookId;
  const setEnabled = (enabled: boolean) => async (taskId: string, hookId: string) => {
    const type = enabled ? 'hook.enabled' : 'hook.disabled';
    await publish('task', taskId, type, { hook: hookId });
    await confirm(taskId, type, (hooks) => hooks.some((it) => it.hook === hookId && it.enabled === enabled));
    return { taskId, hookId, enabled };
  };
  return {
    registerHook,
    async registerStopHook({ timeoutMs, concurrency, roots, ...order }, hook) {
      const { taskId, hookId = `HOOK-${newId()}` } = order;
      checkId('task', taskId);
      checkId('hook', hookId);
      const name = checkNameOf(taskId, hookId);
      // First served, then registered: a stop in between is not to find nobody.
      const check = await serve(name, hook, definedOf({ timeoutMs, concurrency, roots }));
      try {
        const there = (await hooksOf(taskId)).some((it) => it.hook === hookId && it.type === 'remote');
        if (!there) await registerHook({ ...order, hookId, hookType: 'remote', name });
      } catch (error) {
        await check.close();
        throw error;
      }
      served.set(name, { taskId, check });
      return hookId;
    },
    async unregisterStopHook(taskId, hookId) {
      const state = await setEnabled(false)(taskId, hookId);
      await stopServing((key) => key === checkNameOf(taskId, hookId));
      return state;
    },
    createDefaultHook: create('default'),
    createValidationHook: create('validation'),
    createPromiseHook: create('promise'),
    createTddHook: create('tdd'),
    createSecurityHook: create('security'),
    createCheckpointHook: create('checkpoint'),
    async listHooks(taskId) {
      const hooks = (await hooksOf(taskId)).map(({ hook, enabled, type }) => ({
        ...{ id: hook, enabled, metadata: { type } },
      }));
      return { taskId, hookCount: hooks.length, hooks };
    },
    async clearHooks(taskId) {
      const { length: hooksCleared } = await hooksOf(taskId);
      if (hooksCleared > 0) {
        await publish('task', taskId, 'hooks.cleared');
        await confirm(taskId, 'hooks.cleared', (hooks) => hooks.length === 0);
      }
      await stopServing((_key, ofTask) => ofTask === taskId);
      return { taskId, hooksCleared };
    },
    enableHook: setEnabled(true),
    disableHook: setEnabled(false),
  };
}

/** A name of its own for each hook of each task, the same from every process. */
function checkNameOf(taskId: string, hookId: string): string {
  const digest = createHash('sha256').update(`${taskId} ${hookId}`).digest('hex').slice(0, 16);
  return `${hookId.slice(0, 100)}-${digest}`;
}

function definedOf(options: { [Name in keyof ServeOptions]: ServeOptions[Name] | undefined }): ServeOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
