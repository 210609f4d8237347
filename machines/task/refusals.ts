/** Refuses entries about a task that are not valid in its current state (protocol.md §3 and §7). */
import { type HookForm, membersWithin } from '../entries/task.ts';
import { attemptIdFault } from '../values/id.ts';
import { hookMembersMax, hooksMax } from '../values/limits.ts';
import type { TaskContext } from './context.ts';
import type { TaskEvent } from './events.ts';

/** Maximum number of open evaluations. Each holds up to 64 KiB for as long as a remote hook takes. */
const evaluationsMax = 64;

/** Returns the reason for refusing the entry, or null. */
export function refusalOf(context: TaskContext, event: TaskEvent): string | null {
  const { task, hooks, outcome } = context;
  switch (event.type) {
    case 'task.cancelled':
      return `task ${task} is ${outcome ?? 'stopped'}`;
    case 'hook.registered':
      if (hooks.some((known) => known.hook === event.data.hook)) return `hook ${event.data.hook} exists`;
      if (hooks.length >= hooksMax) return `task ${task} has ${hooksMax} hooks, the maximum`;
      return hooks.reduce((sum, known) => sum + membersWithin(known.form), membersWithin(event.data as HookForm)) >
        hookMembersMax
        ? `the hooks of task ${task} would have more than ${hookMembersMax} members, the maximum`
        : null;
    case 'hook.enabled':
    case 'hook.disabled':
    case 'hook.unregistered':
      return hooks.some((known) => known.hook === event.data.hook) ? null : `hook ${event.data.hook} is unknown`;
    case 'iteration.validated':
    case 'iteration.completed':
    case 'iteration.advanced':
      return iterationFault(context, event);
    default:
      return null;
  }
}

type IterationEvent = Extract<
  TaskEvent,
  { type: 'iteration.validated' | 'iteration.completed' | 'iteration.advanced' }
>;

function iterationFault({ task, iteration, evaluations }: TaskContext, event: IterationEvent): string | null {
  if (iteration === null) return 'no iteration was started';
  if (iteration.completed) return `iteration ${iteration.iteration} is completed`;
  if (event.type === 'iteration.advanced')
    return iteration.iteration < iteration.maxIterations ? null : `iteration ${iteration.iteration} is the last`;
  const { iteration: named } = event.data;
  if (named !== iteration.iteration) return `iteration ${named} is not the current one, ${iteration.iteration}`;
  if (event.type !== 'iteration.validated') return null;
  return evaluations.length >= evaluationsMax
    ? `${evaluationsMax} validations of task ${task} wait for an answer, the maximum`
    : attemptIdFault(event.data.attempt);
}
