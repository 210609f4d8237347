/** Guard `pending`: with persistence on, a worker continues while tasks wait in its queue. */
import { block, decide, type Guard, pass } from './guard.ts';
import { keepAlive } from './keep-alive.ts';

export const pending: Guard = (scope) => {
  const { worker, attempt } = scope;
  const { queue, pendingTasks } = attempt.facts;
  const input = { queue, pendingTasks };
  if (attempt.inForce.policy.persistence === null) return pass('persistence is off', input);
  if (pendingTasks === 0) return pass(`queue ${queue} is empty`, input);
  const count = pendingTasks === 1 ? '1 task waits' : `${pendingTasks} tasks wait`;
  const reason = `${count} in queue ${queue}`;
  const nextPrompt = `${reason}. ${releaseFirst(worker.tasks)}Claim the next task and work on it.`;
  return decide(keepAlive(scope, block('pending-tasks', reason, nextPrompt)), input, reason);
};

const releaseFirst = (tasks: readonly string[]): string =>
  tasks.length > 0 ? `You still hold ${tasks.join(', ')}: complete or release it first. ` : '';
