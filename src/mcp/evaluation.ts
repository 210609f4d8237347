/** The question that iteration_validate and hook_evaluate put to a task's hooks. */
import type { HookResult, PromiseName, TaskDetail } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { McpPort } from './port.ts';
import { getTask } from './tasks.ts';
import { formatIterationId, readIterationId, toWire } from './vocabulary.ts';

type Evaluated = {
  readonly result: HookResult;
  readonly promises: ReadonlySet<PromiseName>;
  readonly notes: readonly string[];
};

/** @throws AppError input.bad, actor.unknown, entry.refused */
export async function evaluate(port: McpPort, id: string, work: Parameters<typeof toWire>[0]): Promise<Evaluated> {
  const { task, iteration } = await currentIteration(port, id);
  const { fields, ...said } = toWire(work);
  const result = await withNextStep(() => port.evaluate(task, { iteration, ...fields }));
  return { result, ...said };
}

/** The task of an iterationId, which must be the iteration that its task is in. @throws AppError */
export async function currentIteration(
  port: McpPort,
  id: string,
): Promise<{ task: string; iteration: number; view: TaskDetail }> {
  const { task, iteration } = readIterationId(id);
  const view = await getTask(port, task);
  if (view.iteration === null)
    throw new AppError('entry.refused', `no iteration of task ${task} was started; begin with iteration_start`);
  if (view.iteration !== iteration) {
    const current = formatIterationId(view.iteration, task);
    throw new AppError('entry.refused', `${id} is not the current iteration of task ${task}; go on with ${current}`);
  }
  return { task, iteration, view };
}

/** What is left to be refused is an iteration that has ended. */
export async function withNextStep<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'entry.refused') throw error;
    throw new AppError(error.code, `${error.message}; begin anew with iteration_start`, { cause: error });
  }
}
