/** Workers: what is known of one. */
import { z } from 'zod';
import type { WorkerView } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { findActor } from './actors.ts';
import { resolveWorker, worker } from './input-fields.ts';
import { defineTool, type Tool } from './tool.ts';

const get = defineTool({
  name: 'worker_get',
  title: 'Show a worker',
  description: 'What is known of a worker: state, tasks, plan, retries, idle time, last decision.',
  input: { worker },
  output: { worker: z.string(), state: z.string(), tasks: z.array(z.string()) },
  effect: 'reads',
  run: async (context, input) => {
    const id = resolveWorker(context, input.worker);
    const view = await findActor<WorkerView>(context.port, 'worker', id);
    if (view !== null) return { ...view, tasks: [...view.tasks] };
    throw new AppError(
      'actor.unknown',
      `worker ${id} is unknown; its first entry registers it, for example a task_claim`,
    );
  },
});

export const workerTools: readonly Tool[] = [get];
