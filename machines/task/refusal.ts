/** Which entries about a task are not valid in its current state, and why (protocol.md §3 and §7). */
import { type HookForm, membersWithin } from '../entries/hook.ts';
import { attemptIdFault } from '../values/id.ts';
import { hookMembersMax, hooksMax } from '../values/limits.ts';
import type { TaskContext } from './context.ts';
import type { TaskEvent } from './events.ts';

/** How many evaluations may be open: each holds up to 64 KiB for as long as a remote hook takes. */
const evaluationsMax = 64;

/** Why the entry is refused; null: it is valid. */
export function refusalOf(context: TaskContext, event: TaskEvent): string | null {
  const { task, hooks, outcome } = context;
  switch (event.type) {
    case 'task.cancelled':
      return `task ${task} is ${outcome ?? 'stopped'}`;
    case 'hook.registered':
      if (hooks.some((it) => it.hook === event.data.hook)) return `hook ${event.data.hook} exists`;
      if (hooks.length >= hooksMax) return `task ${task} has ${hooksMax} hooks, the most there may be`;
      return hooks.reduce((sum, it) => sum + membersWithin(it.form), membersWithin(event.data as HookForm)) >
        hookMembersMax
        ? `the hooks of task ${task} would have more than ${hookMembersMax} members, the most there may be`
        : null;
    case 'hook.enabled':
    case 'hook.disabled':
    case 'hook.unregistered':
      return hooks.some((it) => it.hook === event.data.hook) ? null : `hook ${event.data.hook} is unknown`;
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
    ? `${evaluationsMax} validations of task ${task} wait for an answer, the most there may be`
    : attemptIdFault(event.data.attempt);
}
