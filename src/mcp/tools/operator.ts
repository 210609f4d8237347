/** An operator's tools. Only callers with an operator's token have them, so that no agent pauses itself. */
import { z } from 'zod';
import { idSchema, type WorkerView } from '../../../machines/index.ts';
import { operatorNameLengthMax, pauseMsMax } from '../../../machines/values/limits.ts';
import { AppError } from '../../errors.ts';
import type { OperatorAction } from '../../service/operate.ts';
import { defineTool, type Tool, type ToolContext } from './tool.ts';

const target = {
  worker: idSchema.describe('the id of the worker'),
  by: z.string().trim().min(1).max(operatorNameLengthMax).describe('the name of the person who wants it'),
};
const output = {
  worker: z.string(),
  paused: z
    .object({ by: z.string(), since: z.string(), until: z.string().nullable() })
    .nullable()
    .describe('null if it is not paused'),
};

/** @throws AppError role.lacking, actor.unknown, entry.refused */
async function operate({ port }: ToolContext, action: OperatorAction, body: object) {
  if (port.operate === undefined) throw new AppError('role.lacking', "this requires an operator's token");
  const { worker, paused } = (await port.operate(action, body)).view as WorkerView;
  return { worker, paused };
}

const pause = defineTool({
  name: 'worker_pause',
  title: 'Pause a worker',
  description:
    'Allows all stops of a worker without judging them, for a time or until its session ends. Only for people.',
  input: { ...target, forMs: z.int().positive().max(pauseMsMax).optional().describe('for how long, in milliseconds') },
  output,
  effect: 'replaces',
  forOperators: true,
  run: (context, { worker: id, ...fields }) => operate(context, 'pause', { id, ...fields }),
});

const unpause = defineTool({
  name: 'worker_unpause',
  title: "End a worker's pause",
  description: 'The stops of the worker are judged again.',
  input: target,
  output,
  effect: 'replaces',
  idempotent: true,
  forOperators: true,
  run: (context, { worker: id, by }) => operate(context, 'unpause', { id, by }),
});

export const operatorTools: readonly Tool[] = [pause, unpause];
