/** Collects the facts about the fleet that a worker's machine needs: policy, usage limits, queue, tasks. */
import type { PolicyInForce, TaskFacts } from '../guards/attempt.ts';
import { noPlan, type Plan, stepsOf } from '../policy/plan.ts';
import { phaseOf } from '../task/records.ts';
import type { WorkerContext } from '../worker/context.ts';
import { bareTask, type Surroundings } from '../worker/events.ts';
import { type Fleet, pendingIn } from './fleet.ts';
import { queueOfWorker } from './policies.ts';
import { isLimited } from './presence.ts';
import { nextIn } from './queues/queues.ts';
import { dayUsageOf } from './usage.ts';

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
    day: dayUsageOf(fleet, nowMs),
    nextTasks: inForce.policy.persistence === null ? noTasks : nextIn(fleet, queue),
    showsInputs: fleet.showsInputs,
    tasks: worker.tasks.length === 0 ? noTasks : worker.tasks.map((task) => taskFacts(fleet, task)),
  };
}

const noTasks: readonly never[] = Object.freeze([]);

function taskFacts(fleet: Fleet, task: string): TaskFacts {
  const context = fleet.tasks.get(task)?.snapshot.context;
  if (context === undefined) return bareTask(task);
  const { hooks, iteration, usage } = context;
  return { task, hooks, iteration, phase: phaseOf(context), usage };
}

/** Returns the steps of a task. While it is held they are in its worker's plan, otherwise in the task. */
export function planOfTask(fleet: Fleet, task: string): Plan {
  const context = fleet.tasks.get(task)?.snapshot.context;
  const holder = context?.worker == null ? undefined : fleet.workers.read(context.worker)?.snapshot.context.worker;
  return holder === undefined ? (context?.plan ?? noPlan) : stepsOf(holder.plan, task);
}
