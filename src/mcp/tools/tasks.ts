/** Tasks: show, claim, complete, fail and release one. */
import { z } from 'zod';
import { entrySchemas, idSchema, type TaskDetail } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { getTask, publishAndRead } from './actors.ts';
import { defineTool, formatIterationId, resolveWorker, type Tool, type ToolContext, taskId, worker } from './tool.ts';

const reasonField = entrySchemas.worker['task.failed'].shape.reason;

const taskShape = {
  taskId: z.string(),
  state: z.string(),
  iterationId: z.string().nullable().describe('the current iteration'),
  executionPhase: z.string().nullable(),
};

/** Returns the view without the checkpoint (see checkpoint_resume), and with some fields under the seed's names too. */
const toTask = ({ checkpoint: _context, ...view }: TaskDetail) => ({
  taskId: view.task,
  iterationId: view.iteration === null ? null : formatIterationId(view.iteration, view.task),
  executionPhase: view.phase,
  ...view,
});

const get = defineTool({
  name: 'task_get',
  title: 'Show a task',
  description: 'Shows a task: state, worker, plan, iteration, hooks, checkpoints, and refused entries.',
  input: { taskId },
  output: taskShape,
  effect: 'reads',
  run: async ({ port }, { taskId: task }) => toTask(await getTask(port, task)),
});

const claim = defineTool({
  name: 'task_claim',
  title: 'Claim a task',
  description: 'Claims a task: you hold it until you complete it. An unknown task is created.',
  input: { taskId, worker },
  output: { ...taskShape, worker: z.string().nullable() },
  effect: 'adds',
  idempotent: true,
  run: async (context, { taskId: task, worker: given }) => {
    const id = resolveWorker(context, given);
    try {
      await publishAndRead(context, 'worker', id, 'task.claimed', { task });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'entry.refused') throw error;
      throw new AppError(error.code, `${error.message}; claim another one, or wait until it is free (task_get)`, {
        cause: error,
      });
    }
    return toTask(await getTask(context.port, task));
  },
});

const next = defineTool({
  name: 'task_next',
  title: 'Claim the next task',
  description:
    'Claims the first ready task of a queue (by default your own): highest priority first, then oldest. You hold it until you complete it. taskId is null if no task is ready.',
  input: { queue: idSchema.optional().describe('default: the queue of the worker'), worker },
  output: {
    ...taskShape,
    taskId: z.string().nullable(),
    state: z.string().optional(),
    iterationId: z.string().nullish(),
    executionPhase: z.string().nullish(),
  },
  effect: 'adds',
  run: async (context, { queue, worker: given }) => {
    const id = resolveWorker(context, given);
    const { task } = await context.port.claimNext(id, {
      request: context.newId(),
      ...(queue === undefined ? {} : { queue }),
    });
    return task === null ? { taskId: null } : toTask(await getTask(context.port, task));
  },
});

const complete = defineTool({
  name: 'task_complete',
  title: 'Complete a task',
  description: 'Marks a task that you hold as done and removes its hooks.',
  input: { taskId, worker, result: z.unknown().optional().describe('the outcome; kept in the log') },
  output: taskShape,
  effect: 'replaces',
  run: (context, { taskId: task, worker: given, result }) =>
    finishTask(context, given, 'task.completed', { task, result }),
});

const fail = defineTool({
  name: 'task_fail',
  title: 'Give up a task',
  description:
    'Marks a task that you hold as failed. It is escalated to a person with your reason, and you no longer hold it. For work that is blocked or needs a person.',
  input: { taskId, worker, reason: reasonField.describe('what blocks it, for the person who takes over') },
  output: taskShape,
  effect: 'replaces',
  run: (context, { taskId: task, worker: given, reason }) =>
    finishTask(context, given, 'task.failed', { task, reason }),
});

const release = defineTool({
  name: 'task_release',
  title: 'Release a task',
  description: 'Releases an unfinished task that you hold, so that another worker may claim it.',
  input: { taskId, worker },
  output: taskShape,
  effect: 'replaces',
  run: (context, { taskId: task, worker: given }) => finishTask(context, given, 'task.released', { task }),
});

/** Completes, fails or releases a held task. @throws AppError entry.refused if the worker does not hold it */
async function finishTask(
  context: ToolContext,
  given: string | undefined,
  type: 'task.completed' | 'task.failed' | 'task.released',
  data: { readonly task: string; readonly [field: string]: unknown },
) {
  const id = resolveWorker(context, given);
  const { task } = data;
  const holder = (await getTask(context.port, task)).worker;
  if (holder !== id) {
    const held = holder === null ? 'nobody holds it' : `${holder} holds it`;
    throw new AppError(
      'entry.refused',
      `worker ${id} does not hold task ${task} (${held}); claim it with task_claim first`,
    );
  }
  await publishAndRead(context, 'worker', id, type, data);
  return toTask(await getTask(context.port, task));
}

export const taskTools: readonly Tool[] = [get, claim, next, complete, fail, release];
