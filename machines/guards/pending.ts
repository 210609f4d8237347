/** Guard `pending`: with persistence on, a worker continues while tasks wait in its queue. */
import type { Facts } from './attempt.ts';
import { block, constantPass, decide, type Guard, keepAlive, pass } from './guard.ts';
import { nameTasks } from './task-names.ts';

export const pending: Guard = (scope) => {
  const { worker, attempt } = scope;
  const { queue, pendingTasks } = attempt.facts;
  const input = { queue, pendingTasks };
  if (attempt.inForce.policy.persistence === null) return { ...persistenceOff, input };
  if (pendingTasks === 0) return pass(`queue ${queue} is empty`, input);
  const reason = describePending(attempt.facts);
  const nextPrompt = `${reason}. ${releaseFirst(worker.tasks)}Claim the next task and work on it.`;
  return decide(keepAlive(scope, block('pending-tasks', reason, nextPrompt)), input, reason);
};

const persistenceOff = constantPass('pending', 'persistence is off');

/** Returns the fixed text of protocol.md §5. */
function describePending({ queue, pendingTasks, nextTasks }: Facts): string {
  const count = pendingTasks === 1 ? '1 task waits' : `${pendingTasks} tasks wait`;
  return `${count} in queue ${queue}${nextTasks.length === 0 ? '' : `: ${nameTasks(nextTasks, pendingTasks)}`}`;
}

const releaseFirst = (tasks: readonly string[]): string =>
  tasks.length > 0 ? `You still hold ${tasks.join(', ')}: complete or release it first. ` : '';
