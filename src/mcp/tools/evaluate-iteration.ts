/** Evaluates the hooks of a task for its current iteration: what iteration_validate and hook_evaluate have in common. */
import type { HookResult, PromiseName, TaskDetail } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { ServicePort } from '../nats-port.ts';
import { getTask } from './actors.ts';
import { formatIterationId, parseIterationId, toWire } from './input-fields.ts';

type Evaluation = {
  readonly result: HookResult;
  readonly promises: ReadonlySet<PromiseName>;
  readonly notes: readonly string[];
};

/** @throws AppError input.bad, actor.unknown, entry.refused */
export async function evaluateIteration(
  port: ServicePort,
  id: string,
  work: Parameters<typeof toWire>[0],
): Promise<Evaluation> {
  const { task, iteration } = await currentIteration(port, id);
  const { fields, promises, notes } = toWire(work);
  const result = await withNextStep(() => port.evaluate(task, { iteration, ...fields }));
  return { result, promises, notes };
}

/** Resolves an iterationId, which must be the current iteration of its task. @throws AppError */
export async function currentIteration(
  port: ServicePort,
  id: string,
): Promise<{ task: string; iteration: number; view: TaskDetail }> {
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

/** Adds the next step to a refusal: after the checks above, the only reason left is that the iteration has ended. */
export async function withNextStep<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'entry.refused') throw error;
    throw new AppError(error.code, `${error.message}; start a new loop with iteration_start`, { cause: error });
  }
}
