/** Checkpoints: an agent's progress, saved for a later session (seed 001). */
import { z } from 'zod';
import { entrySchemas, idSchema } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { getTask, publishAndRead } from './actors.ts';
import { defineTool, formatIterationId, type Tool, taskId } from './tool.ts';

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
  description: 'Saves your progress on a task for checkpoint_resume: a phase, a step, and any context of your own.',
  input: {
    taskId,
    checkpointId: idSchema.optional().describe('default: generated'),
    executionPhase: z.string().optional().describe('e.g. testing'),
    executionStep: step,
    agentContext: z.unknown().optional().describe('anything you want returned on resume; at most 64 KiB'),
  },
  output: shape,
  effect: 'adds',
  run: async (context, input) => {
    const { taskId: task, checkpointId: checkpoint = `CP-${context.newId()}` } = input;
    const { executionPhase: phase, executionStep, agentContext } = input;
    const data = { checkpoint, phase, step: executionStep, context: agentContext };
    const view = await publishAndRead(context, 'task', task, 'checkpoint.saved', data);
    const saved = view.checkpoints.findLast((each) => each.checkpoint === checkpoint);
    return {
      checkpointId: checkpoint,
      taskId: task,
      createdAt: saved?.at ?? '',
      executionPhase: phase ?? null,
      executionStep: executionStep ?? null,
      ...iterationOf(view),
    };
  },
});

const resume = defineTool({
  name: 'checkpoint_resume',
  title: 'Resume from a checkpoint',
  description:
    'Returns the latest checkpoint, or the one with the given id, with the current iteration and the registered hooks. ' +
    'Hooks survive restarts and need not be registered again. Nothing is changed.',
  input: { taskId, checkpointId: idSchema.optional().describe('default: the latest') },
  output: {
    ...shape,
    agentContext: z.unknown(),
    maxIterations: z.number().nullable(),
    hooks: z.array(z.looseObject({ id: z.string(), hookType: z.string(), enabled: z.boolean() })),
  },
  effect: 'reads',
  run: async ({ port }, { taskId: task, checkpointId }) => {
    const latest = await getTask(port, task);
    const known = latest.checkpoints.map(({ checkpoint }) => checkpoint);
    const isKnown = checkpointId !== undefined && known.includes(checkpointId);
    const view = isKnown ? await getTask(port, task, { checkpoint: checkpointId }) : latest;
    const { checkpoint: saved } = view;
    if (saved === null || (checkpointId !== undefined && !isKnown)) {
      const what = checkpointId === undefined ? 'no checkpoint' : `no checkpoint ${checkpointId}`;
      const next = known.length === 0 ? 'save one with checkpoint_create' : `it has: ${known.join(', ')}`;
      throw new AppError('actor.unknown', `task ${task} has ${what}; ${next}`);
    }
    return {
      checkpointId: saved.checkpoint,
      taskId: task,
      createdAt: saved.at,
      executionPhase: saved.phase,
      executionStep: saved.step,
      agentContext: saved.context,
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
