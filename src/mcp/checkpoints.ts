/** Checkpoints: where an agent was, kept for whoever goes on (seed 001). */
import { z } from 'zod';
import { entrySchemas, idSchema } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { change, getTask } from './tasks.ts';
import { defineTool, type Tool } from './tool.ts';
import { formatIterationId, taskId } from './vocabulary.ts';

const { step } = entrySchemas.task['checkpoint.saved'].shape;
const shape = {
  checkpointId: z.string(),
  taskId: z.string(),
  createdAt: z.string(),
  executionPhase: z.string().nullable(),
  executionStep: z.union([z.string(), z.number()]).nullable(),
  iteration: z.number().nullable(),
  iterationId: z.string().nullable(),
};

const create = defineTool({
  name: 'checkpoint_create',
  title: 'Save a checkpoint',
  description: 'Saves where you are on a task: a phase, a step, and a context of your own, for checkpoint_resume.',
  input: {
    taskId,
    checkpointId: idSchema.optional().describe('default: made up'),
    executionPhase: z.string().optional().describe('e.g. testing'),
    executionStep: step,
    agentContext: z.unknown().optional().describe('anything you want back; under 64 KiB'),
  },
  output: shape,
  effect: 'adds',
  run: async (context, input) => {
    const { taskId: task, checkpointId: checkpoint = `CP-${context.newId()}` } = input;
    const { executionPhase: phase, executionStep, agentContext } = input;
    const data = { checkpoint, phase, step: executionStep, context: agentContext };
    const view = await change(context, 'task', task, 'checkpoint.saved', data);
    const saved = view.checkpoints.findLast((it) => it.checkpoint === checkpoint);
    return {
      ...{ checkpointId: checkpoint, taskId: task, createdAt: saved?.at ?? '' },
      ...{ executionPhase: phase ?? null, executionStep: executionStep ?? null },
      ...iterationOf(view),
    };
  },
});

const resume = defineTool({
  name: 'checkpoint_resume',
  title: 'Resume from a checkpoint',
  description:
    'Gives back what was saved last, or under an id, with the iteration to go on with and the hooks that stand. ' +
    'Hooks survive restarts and need not be registered again. Nothing is changed.',
  input: { taskId, checkpointId: idSchema.optional().describe('default: the last one') },
  output: {
    ...shape,
    agentContext: z.unknown(),
    maxIterations: z.number().nullable(),
    hooks: z.array(z.looseObject({ id: z.string(), hookType: z.string(), enabled: z.boolean() })),
  },
  effect: 'reads',
  run: async ({ port }, { taskId: task, checkpointId }) => {
    const last = await getTask(port, task);
    const known = last.checkpoints.map((it) => it.checkpoint);
    const isNamed = checkpointId !== undefined && known.includes(checkpointId);
    const view = isNamed ? await getTask(port, task, { checkpoint: checkpointId }) : last;
    const { checkpoint: saved } = view;
    if (saved === null || (checkpointId !== undefined && !isNamed)) {
      const what = checkpointId === undefined ? 'no checkpoint' : `no checkpoint ${checkpointId}`;
      const next = known.length === 0 ? 'save one with checkpoint_create' : `it has: ${known.join(', ')}`;
      throw new AppError('actor.unknown', `task ${task} has ${what}; ${next}`);
    }
    return {
      ...{ checkpointId: saved.checkpoint, taskId: task, createdAt: saved.at },
      ...{ executionPhase: saved.phase, executionStep: saved.step, agentContext: saved.context },
      ...iterationOf(view),
      maxIterations: view.maxIterations,
      hooks: view.hooks.map(({ hook, type, enabled }) => ({ id: hook, hookType: type, enabled })),
    };
  },
});

const iterationOf = ({ task, iteration }: { task: string; iteration: number | null }) => ({
  iteration,
  iterationId: iteration === null ? null : formatIterationId(iteration, task),
});

export const checkpointTools: readonly Tool[] = [create, resume];
