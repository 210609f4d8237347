/** Workers claim and release tasks (protocol.md §3 and §4). */
import type { WorkerEntry } from '../../entries/index.ts';
import type { PolicyInForce } from '../../guards/attempt.ts';
import { noPlan, type Plan } from '../../policy/plan.ts';
import type { TaskEvent } from '../../task/events.ts';
import type { WorkerContext } from '../../worker/context.ts';
import type { WorkerEvent } from '../../worker/events.ts';
import { type Fleet, positionOf, type WorkerRecord } from '../fleet.ts';
import { policyInForce, queueOfWorker } from '../policies.ts';
import { actorSize, describeFull, exceedsState, growthOfTask, growthOfWorker } from '../state-size.ts';
import { createTask, stepTask } from '../tasks.ts';
import { refuseWorker, stepWorker } from '../workers.ts';

export function claimTask(
  fleet: Fleet,
  record: WorkerRecord,
  data: Extract<WorkerEntry, { type: 'task.claimed' }>['data'],
): void {
  const { task } = data;
  const { worker: context } = record.snapshot.context;
  const facts = { plan: planOf(fleet, task), inForce: joinedPolicy(fleet, context, task) };
  const workerEvent = { type: 'task.claimed', data: { task }, ...positionOf(fleet), facts } as const;
  const taskEvent = { type: 'task.claimed', data, ...positionOf(fleet), facts: { worker: context.worker } } as const;
  const reason = capacityFault(fleet, record, workerEvent, taskEvent);
  if (reason !== null) {
    refuseWorker(fleet, record, 'task.claimed', reason);
    return;
  }
  if (!fleet.tasks.has(task)) createTask(fleet, task, queueOfWorker(context, policyInForce(fleet, context)));
  stepTask(fleet, task, taskEvent);
  if (context.attempt !== null) stepTask(fleet, task, { type: 'attempt.opened', ...positionOf(fleet) });
  stepWorker(fleet, record, workerEvent);
  resumeTasks(fleet, record);
}

/** Returns the reason if the claim would make the worker and the task exceed the fleet's size limit, or null. */
function capacityFault(
  fleet: Fleet,
  { snapshot }: WorkerRecord,
  workerEvent: Extract<WorkerEvent, { type: 'task.claimed' }>,
  taskEvent: Extract<TaskEvent, { type: 'task.claimed' }>,
): string | null {
  const { task } = taskEvent.data;
  const known = fleet.tasks.get(task)?.snapshot;
  const before = known ?? fleet.taskStepper.start({ fleet: fleet.name, task, queue: null });
  const growth =
    (known === undefined ? actorSize : 0) +
    growthOfTask(before.context, fleet.taskStepper.next(before, taskEvent).context) +
    growthOfWorker(snapshot.context.worker, fleet.workerStepper.next(snapshot, workerEvent).context.worker);
  return exceedsState(fleet, growth) ? describeFull(fleet.stateSizeMax) : null;
}

/** Returns the policy that applies with this task too. Only an open attempt reads it. */
const joinedPolicy = (fleet: Fleet, context: WorkerContext, task: string): PolicyInForce | undefined =>
  context.attempt === null ? undefined : policyInForce(fleet, { ...context, tasks: [...context.tasks, task] });

const planOf = (fleet: Fleet, task: string): Plan => fleet.tasks.get(task)?.snapshot.context.plan ?? noPlan;

export function releaseByWorker(
  fleet: Fleet,
  record: WorkerRecord,
  entry: Extract<WorkerEntry, { type: 'task.completed' | 'task.failed' | 'task.released' }>,
): void {
  const { type } = entry;
  const { task } = entry.data;
  const event = { type, data: entry.data, ...positionOf(fleet) } as TaskEvent;
  // The steps only move from the worker back to the task, so only an escalation makes the state larger.
  const known = fleet.tasks.get(task)?.snapshot;
  const growth = known === undefined ? 0 : growthOfTask(known.context, fleet.taskStepper.next(known, event).context);
  if (exceedsState(fleet, growth)) {
    refuseWorker(fleet, record, type, describeFull(fleet.stateSizeMax));
    return;
  }
  stepTask(fleet, task, event);
  stepWorker(fleet, record, {
    type: 'task.lost',
    data: { task, isOpen: type === 'task.failed' },
    ...positionOf(fleet),
  });
}

/** Takes a cancelled task from its worker. */
export function loseTask(fleet: Fleet, worker: string, task: string): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) stepWorker(fleet, record, { type: 'task.lost', data: { task }, ...positionOf(fleet) });
}

const plannedEvent = (fleet: Fleet, task: string, plan: Plan) =>
  ({ type: 'task.planned', data: { task }, ...positionOf(fleet), facts: { plan } }) as const;

/** Replaces the plan of a held task. */
export function planTask(fleet: Fleet, worker: string, task: string, plan: Plan): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) stepWorker(fleet, record, plannedEvent(fleet, task, plan));
}

/** Returns how much the worker grows if this becomes the plan of a task that it holds. */
export function growthOfPlan(fleet: Fleet, worker: string, task: string, plan: Plan | undefined): number {
  const snapshot = plan === undefined ? undefined : fleet.workers.get(worker)?.snapshot;
  if (plan === undefined || snapshot === undefined) return 0;
  const next = fleet.workerStepper.next(snapshot, plannedEvent(fleet, task, plan));
  return growthOfWorker(snapshot.context.worker, next.context.worker);
}

export function clearFilesOf(fleet: Fleet, worker: string): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) stepWorker(fleet, record, { type: 'files.cleared' });
}

/** Sets the blocked tasks of a working worker to `working`. */
export function resumeTasks(fleet: Fleet, { snapshot }: WorkerRecord): void {
  if (snapshot.value.state !== 'working') return;
  for (const task of snapshot.context.worker.tasks) {
    if (fleet.tasks.get(task)?.snapshot.value === 'blocked')
      stepTask(fleet, task, { type: 'work.resumed', ...positionOf(fleet) });
  }
}
