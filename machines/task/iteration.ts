/** Iterations: the turns of a loop that works on the task (protocol.md §7). */
import type { Iteration } from '../guards/task-hooks/hook.ts';
import type { On, TaskContext } from './context.ts';
import type { Evaluation } from './records.ts';

export function startIteration({ data }: On<'iteration.started'>): Partial<TaskContext> {
  const { iteration, maxIterations, completionPromises, rules, breakers } = data;
  return {
    iteration: {
      iteration,
      maxIterations,
      completed: false,
      failures: 0,
      failed: false,
      completionPromises: completionPromises ?? null,
      rules: rules ?? null,
      failuresMax: breakers?.failures ?? null,
    },
  };
}

export function advanceIteration({ iteration }: TaskContext): Partial<TaskContext> {
  if (iteration === null) return {};
  const failures = iteration.failed ? iteration.failures + 1 : 0;
  return { iteration: { ...iteration, iteration: iteration.iteration + 1, failures, failed: false } };
}

/** Judges an iteration by its last validation. */
export const judgeIteration = (iteration: Iteration, fields: Evaluation['fields']): Iteration => ({
  ...iteration,
  failed: hasFailedRule(iteration, fields),
});

export const completeIteration = ({ iteration }: TaskContext): Partial<TaskContext> => ({
  iteration: iteration === null ? null : { ...iteration, completed: true },
});

/** A rule that counts in this iteration failed. */
export const hasFailedRule = (iteration: Iteration | null, { validation }: Evaluation['fields']): boolean =>
  validation?.some((it) => !it.passed && (iteration?.rules?.includes(it.rule) ?? true)) ?? false;
