/** Hooks on a task: set, asked, listed and taken away (seed 001, MCP Tools). */
import { z } from 'zod';
import { entrySchemas, type HookResult, hookTypes, idSchema } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { evaluate } from './evaluation.ts';
import { change, getTask } from './tasks.ts';
import { defineTool, type Tool } from './tool.ts';
import { iterationId, notes, notesOf, taskId, workShape } from './vocabulary.ts';

const { when, onError } = entrySchemas.task['hook.registered'].shape;
const hookType = z.enum(hookTypes);
const metadata = z.record(z.string(), z.unknown());

const register = defineTool({
  name: 'hook_register',
  title: 'Register a stop hook',
  description:
    'Sets a condition on a task that says, of an iteration or a stop, whether it is complete, goes on, or needs a person. ' +
    'Types: default (promises first, then validation rules; recommended), promise, validation, tdd (rule tests_pass), ' +
    'security (rules vulns_fixed and sast_clean), checkpoint (saves one at iteration metadata.at), remote (asks the check `name`), ' +
    'all and any (of several, in `of`). Hooks are asked in the order of their registration, and survive restarts.',
  input: {
    taskId,
    hookType: hookType.default('default'),
    of: z
      .array(z.looseObject({ hookType: hookType.optional() }))
      .min(1)
      .optional()
      .describe('members of all and any: each with hookType, and of, name, when, onError as here; 4 deep at most'),
    name: idSchema.optional().describe('for remote: the check to ask'),
    when: when.describe('asked only where all of this holds'),
    onError: onError.describe('where a remote hook fails; default: escalate'),
    enabled: z.boolean().optional(),
    metadata: metadata.optional(),
    hookId: idSchema.optional().describe('default: made up'),
  },
  output: { hookId: z.string(), taskId: z.string(), hookType, enabled: z.boolean(), metadata },
  effect: 'adds',
  run: async (context, { taskId: task, hookType: type, of, hookId, ...rest }) => {
    const hook = hookId ?? `HOOK-${context.newId()}`;
    const data = { ...rest, hook, type, of: of?.map(toForm) };
    await inSeedWords(() => change(context, 'task', task, 'hook.registered', data));
    return { hookId: hook, taskId: task, hookType: type, enabled: rest.enabled ?? true, metadata: rest.metadata ?? {} };
  },
});

/** A member in the words of the wire. Its shape is judged there, and so is its depth; the server has bounded that. */
function toForm({ hookType: type, of, ...rest }: Record<string, unknown>): object {
  const isMember = (it: unknown): it is Record<string, unknown> => typeof it === 'object' && it !== null;
  const members = Array.isArray(of) ? of.map((it) => (isMember(it) ? toForm(it) : it)) : of;
  return { type, ...rest, of: members };
}

async function inSeedWords<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const next =
      error.code === 'entry.refused' ? '; hook_list shows what is registered, hook_clear removes all of it' : '';
    throw new AppError(error.code, error.message.replaceAll(/\btype\b/g, 'hookType') + next, { cause: error });
  }
}

export const hookResultShape = {
  hookId: z.string().describe('the hook that decided; "default" where there is none'),
  taskId: z.string(),
  iteration: z.number(),
  action: z.enum(['complete', 'continue', 'escalate']),
  reason: z.string(),
  nextPrompt: z.string().nullable(),
  checkpointCreated: z.boolean(),
  metadata,
  notes,
};

/** In the seed's shape. */
export function toHookResult(result: HookResult) {
  const { hookId, taskId: task, iteration, action, reason, nextPrompt, checkpointCreated, metadata: more } = result;
  return { hookId, taskId: task, iteration, action, reason, nextPrompt, checkpointCreated, metadata: { ...more } };
}

const ask = defineTool({
  name: 'hook_evaluate',
  title: 'Ask the stop hooks',
  description: 'Asks the hooks of a task about its current iteration. iteration_validate does this and says more.',
  input: { iterationId, ...workShape },
  output: hookResultShape,
  effect: 'adds',
  run: async ({ port }, { iterationId: id, ...work }) => {
    const { result, notes: found } = await evaluate(port, id, work);
    return { ...toHookResult(result), ...notesOf(found) };
  },
});

const list = defineTool({
  name: 'hook_list',
  title: 'List stop hooks',
  description: 'All hooks of a task, in the order in which they are asked.',
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
      ...{ id: hook, enabled },
      metadata: { ...more, type },
    }));
    return { taskId: task, hookCount: found.length, hooks: found };
  },
});

const clear = defineTool({
  name: 'hook_clear',
  title: 'Clear stop hooks',
  description: 'Removes all hooks of a task. iteration_complete and the end of the task do so too.',
  input: { taskId },
  output: { taskId: z.string(), hooksCleared: z.number() },
  effect: 'replaces',
  again: true,
  run: async (context, { taskId: task }) => {
    const hooksCleared = (await getTask(context.port, task)).hooks.length;
    await change(context, 'task', task, 'hooks.cleared', {});
    return { taskId: task, hooksCleared };
  },
});

export const hookTools: readonly Tool[] = [register, ask, list, clear];
