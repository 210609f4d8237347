/** Task hooks: register, evaluate, list and clear them (seed 001, MCP Tools). */
import { z } from 'zod';
import {
  entrySchemas,
  type HookResult,
  hookResultSchema,
  hookTypes,
  idSchema,
  type PromiseName,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { TaskDetailView } from '../../service/get.ts';
import type { ServicePort } from '../nats-port.ts';
import { getTask, publishAndRead } from './actors.ts';
import {
  defineTool,
  formatIterationId,
  iterationId,
  notes,
  notesOf,
  parseIterationId,
  type Tool,
  taskId,
  toWire,
  workShape,
} from './tool.ts';

const { when, onError } = entrySchemas.task['hook.registered'].shape;
const hookType = z.enum(hookTypes);
const metadata = z.record(z.string(), z.unknown());

const register = defineTool({
  name: 'hook_register',
  title: 'Register a stop hook',
  description:
    'Registers a hook on a task. For an iteration or a stop it returns complete, continue or escalate (a person must step in). ' +
    'Types: default (promises first, then validation rules; recommended), promise, validation, tdd (rule tests_pass), ' +
    'security (rules vulns_fixed and sast_clean), checkpoint (saves a checkpoint at iteration metadata.at), ' +
    'remote (runs the check `name`), all and any (combine the hooks in `of`). ' +
    'Hooks run in the order of their registration and survive restarts.',
  input: {
    taskId,
    hookType: hookType.default('default'),
    of: z
      .array(z.looseObject({ hookType: hookType.optional() }))
      .min(1)
      .optional()
      .describe(
        'members of all and any, each with hookType, of, name, when and onError as here; nested at most 4 deep',
      ),
    name: idSchema.optional().describe('for remote: the check to run'),
    when: when.describe('the hook runs only if all of these conditions hold'),
    onError: onError.describe('what an error of a remote hook means; default: escalate'),
    enabled: z.boolean().optional(),
    metadata: metadata.optional(),
    hookId: idSchema.optional().describe('default: generated'),
  },
  output: { hookId: z.string(), taskId: z.string(), hookType, enabled: z.boolean(), metadata },
  effect: 'adds',
  run: async (context, { taskId: task, hookType: type, of, hookId, ...rest }) => {
    const hook = hookId ?? `HOOK-${context.newId()}`;
    const data = { ...rest, hook, type, of: of?.map(toMember) };
    await withSeedNames(() => publishAndRead(context, 'task', task, 'hook.registered', data));
    return { hookId: hook, taskId: task, hookType: type, enabled: rest.enabled ?? true, metadata: rest.metadata ?? {} };
  },
});

/** Converts a member to wire names. The entry's schema validates it; server.ts has limited its depth. */
function toMember({ hookType: type, of, ...rest }: Record<string, unknown>): object {
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
  const members = Array.isArray(of) ? of.map((member) => (isObject(member) ? toMember(member) : member)) : of;
  return { type, ...rest, of: members };
}

/** Renames fields in errors: the wire's `type` is the tool's `hookType`. */
async function withSeedNames<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const next =
      error.code === 'entry.refused' ? '; hook_list shows the registered hooks, hook_clear removes all of them' : '';
    throw new AppError(error.code, error.message.replaceAll(/\btype\b/g, 'hookType') + next, { cause: error });
  }
}

export const hookResultShape = { ...hookResultSchema.omit({ fleet: true, attempt: true }).shape, notes };

/** Returns the fields of seed 001, without those that only exist on the wire. */
export function toHookResult(result: HookResult) {
  const { hookId, taskId: task, iteration, action, reason, nextPrompt, checkpointCreated, metadata: more } = result;
  return { hookId, taskId: task, iteration, action, reason, nextPrompt, checkpointCreated, metadata: { ...more } };
}

type Evaluation = {
  /** The task before the evaluation. */
  readonly view: TaskDetailView;
  readonly result: HookResult;
  readonly promises: ReadonlySet<PromiseName>;
  readonly notes: readonly string[];
};

/**
 * Evaluates the hooks of a task for its current iteration.
 * @throws AppError input.bad, actor.unknown or entry.refused
 */
export async function evaluateIteration(
  port: ServicePort,
  id: string,
  work: Parameters<typeof toWire>[0],
): Promise<Evaluation> {
  const { task, iteration, view } = await currentIteration(port, id);
  const { fields, promises, notes: found } = toWire(work);
  const result = await withNextStep(() => port.evaluate(task, { iteration, ...fields }));
  return { view, result, promises, notes: found };
}

/** Parses an iterationId and checks that it is the current iteration. @throws AppError input.bad or entry.refused */
export async function currentIteration(
  port: ServicePort,
  id: string,
): Promise<{ task: string; iteration: number; view: TaskDetailView }> {
  const { task, iteration } = parseIterationId(id);
  const view = await getTask(port, task);
  if (view.iteration === null)
    throw new AppError('entry.refused', `task ${task} has no iteration yet; start one with iteration_start`);
  if (view.iteration !== iteration) {
    const current = formatIterationId(view.iteration, task);
    throw new AppError('entry.refused', `${id} is not the current iteration of task ${task}; continue with ${current}`);
  }
  return { task, iteration, view };
}

/** Adds the next step to a refusal. After `currentIteration`, the only possible reason is an ended iteration. */
export async function withNextStep<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'entry.refused') throw error;
    throw new AppError(error.code, `${error.message}; start a new loop with iteration_start`, { cause: error });
  }
}

const evaluate = defineTool({
  name: 'hook_evaluate',
  title: 'Evaluate the stop hooks',
  description:
    'Evaluates the hooks of a task for its current iteration. iteration_validate does the same and returns more.',
  input: { iterationId, ...workShape },
  output: hookResultShape,
  effect: 'adds',
  run: async ({ port }, { iterationId: id, ...work }) => {
    const { result, notes: found } = await evaluateIteration(port, id, work);
    return { ...toHookResult(result), ...notesOf(found) };
  },
});

const list = defineTool({
  name: 'hook_list',
  title: 'List stop hooks',
  description: 'All hooks of a task, in the order in which they run. A remote hook is listed as custom.',
  input: { taskId },
  output: {
    taskId: z.string(),
    hookCount: z.number(),
    hooks: z.array(z.object({ id: z.string(), enabled: z.boolean(), metadata })),
  },
  effect: 'reads',
  run: async ({ port }, { taskId: task }) => {
    const { hooks } = await getTask(port, task);
    const found = hooks.map(({ hook, enabled, type, metadata: more }) => ({
      id: hook,
      enabled,
      metadata: { ...more, type: type === 'remote' ? 'custom' : type },
    }));
    return { taskId: task, hookCount: found.length, hooks: found };
  },
});

const clear = defineTool({
  name: 'hook_clear',
  title: 'Clear stop hooks',
  description: 'Removes all hooks of a task. iteration_complete and completing the task do this too.',
  input: { taskId },
  output: { taskId: z.string(), hooksCleared: z.number() },
  effect: 'replaces',
  idempotent: true,
  run: async (context, { taskId: task }) => {
    const hooksCleared = (await getTask(context.port, task)).hooks.length;
    await publishAndRead(context, 'task', task, 'hooks.cleared', {});
    return { taskId: task, hooksCleared };
  },
});

const unregister = defineTool({
  name: 'hook_unregister',
  title: 'Unregister a stop hook',
  description: 'Removes one hook from a task; its id is free again. hook_clear removes all of them.',
  input: { taskId, hookId: idSchema },
  output: { taskId: z.string(), hookId: z.string(), hookCount: z.number() },
  effect: 'replaces',
  run: async (context, { taskId: task, hookId: hook }) => {
    await getTask(context.port, task);
    const { hooks } = await withSeedNames(() => publishAndRead(context, 'task', task, 'hook.unregistered', { hook }));
    return { taskId: task, hookId: hook, hookCount: hooks.length };
  },
});

export const hookTools: readonly Tool[] = [register, evaluate, list, unregister, clear];
