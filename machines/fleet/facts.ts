/** What a worker's machine learns about the fleet around it: policy, usage limits, queue, task. */
import type { PolicyInForce, TaskFacts } from '../guards/attempt.ts';
import { phaseOf } from '../task/checkpoint.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Surroundings } from '../worker/events.ts';
import { type Fleet, pendingIn } from './fleet.ts';
import { queueOfWorker } from './policies.ts';
import { isLimited } from './presence.ts';

export function surroundingsOf(
  fleet: Fleet,
  worker: WorkerContext,
  inForce: PolicyInForce,
  nowMs = fleet.nowMs,
): Surroundings {
  const queue = queueOfWorker(worker, inForce);
  return {
    inForce,
    limited: isLimited(fleet, worker, nowMs),
    queue,
    pendingTasks: pendingIn(fleet, queue),
    task: taskFacts(fleet, worker.tasks.at(-1)),
  };
}

function taskFacts(fleet: Fleet, task: string | undefined): TaskFacts | null {
  const context = task === undefined ? undefined : fleet.tasks.get(task)?.snapshot.context;
  if (context === undefined) return null;
  return { task: context.task, hooks: context.hooks, iteration: context.iteration, phase: phaseOf(context) };
}
