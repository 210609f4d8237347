/** Claims: a worker takes tasks and releases them (protocol.md §3 and §4). */
import type { WorkerEntry } from '../../entries/index.ts';
import type { PolicyInForce } from '../../guards/attempt.ts';
import { noPlan, type Plan, planStepsMax, stepsOf } from '../../policy/plan.ts';
import type { TaskEvent } from '../../task/context.ts';
import { heldTasksMax } from '../../values/limits.ts';
import type { WorkerContext } from '../../worker/context.ts';
import { type Fleet, placeOf, type WorkerRecord } from '../fleet.ts';
import { policyInForce, queueOfWorker } from '../policies.ts';
import { describeFull, exceedsState, isStateFull, sizeOfPlan } from '../state-size.ts';
import { createTask, stepTask } from '../tasks.ts';
import { refuseWorker, stepWorker } from '../workers.ts';

export function claimTask(
  fleet: Fleet,
  record: WorkerRecord,
  data: Extract<WorkerEntry, { type: 'task.claimed' }>['data'],
): void {
  const { task } = data;
  const { worker: context } = record.snapshot.context;
  const reason = claimFault(fleet, context, task);
  if (reason !== null) {
    refuseWorker(fleet, record, 'task.claimed', reason);
    return;
  }
  if (!fleet.tasks.has(task)) createTask(fleet, task, queueOfWorker(context, policyInForce(fleet, context)));
  stepTask(fleet, task, {
    type: 'task.claimed',
    data,
    ...placeOf(fleet),
    facts: { worker: context.worker },
  });
  if (context.attempt !== null) stepTask(fleet, task, { type: 'attempt.opened', ...placeOf(fleet) });
  const facts = { plan: planOf(fleet, task), inForce: joinedPolicy(fleet, context, task) };
  stepWorker(fleet, record, { type: 'task.claimed', data: { task }, ...placeOf(fleet), facts });
  resumeTasks(fleet, record);
}

/** Returns the policy with the task joined, which only an open attempt reads. */
const joinedPolicy = (fleet: Fleet, context: WorkerContext, task: string): PolicyInForce | undefined =>
  context.attempt === null ? undefined : policyInForce(fleet, { ...context, tasks: [...context.tasks, task] });

/** Says why this worker may not claim the task, or null. */
function claimFault(fleet: Fleet, context: WorkerContext, task: string): string | null {
  const { worker, ended, tasks } = context;
  if (ended !== null) return `worker ${worker} is ${ended}`;
  if (tasks.length >= heldTasksMax && !tasks.includes(task))
    return `worker ${worker} holds ${heldTasksMax} tasks, the most there may be`;
  const found = fleet.tasks.get(task)?.snapshot;
  if (found === undefined) return isStateFull(fleet) ? describeFull(fleet.stateSizeMax) : null;
  const { worker: holder, outcome, after } = found.context;
  if (found.value === 'stopped') return `task ${task} is ${outcome ?? 'stopped'}`;
  if (holder !== null && holder !== worker) return `task ${task} is held by ${holder}`;
  if (tasks.includes(task)) return waitsFor(fleet, after);
  const plan = planOf(fleet, task);
  // The worker keeps its steps, too.
  const isTooMuch = exceedsState(fleet, sizeOfPlan(plan));
  return (
    waitsFor(fleet, after) ?? planFault(context, task, plan) ?? (isTooMuch ? describeFull(fleet.stateSizeMax) : null)
  );
}

const planOf = (fleet: Fleet, task: string): Plan => fleet.tasks.get(task)?.snapshot.context.plan ?? noPlan;

/**
 * Says why the steps of a task do not fit into its worker's plan, or null. The task's earlier steps there are replaced.
 */
export function planFault({ plan }: WorkerContext, task: string, steps: Plan): string | null {
  const count = plan.length - stepsOf(plan, task).length + steps.length;
  return count <= planStepsMax ? null : `the plan would have ${count} steps; ${planStepsMax} is the most there may be`;
}

/** Returns the tasks of `after` that are not completed. */
export const openAmong = (fleet: Fleet, after: readonly string[]): string[] =>
  after.filter((task) => fleet.tasks.get(task)?.snapshot.context.outcome !== 'completed');

function waitsFor(fleet: Fleet, after: readonly string[]): string | null {
  const open = openAmong(fleet, after);
  return open.length === 0 ? null : `it waits for ${open.slice(0, 3).join(', ')}`;
}

export function letGoOfTask(
  fleet: Fleet,
  record: WorkerRecord,
  entry: Extract<WorkerEntry, { type: 'task.completed' | 'task.failed' | 'task.released' }>,
): void {
  const { worker: context } = record.snapshot.context;
  const { type } = entry;
  const { task } = entry.data;
  if (!context.tasks.includes(task)) {
    const reason = fleet.tasks.has(task)
      ? `worker ${context.worker} does not hold task ${task}`
      : `task ${task} is unknown`;
    refuseWorker(fleet, record, type, reason);
    return;
  }
  stepTask(fleet, task, { type, data: entry.data, ...placeOf(fleet) } as TaskEvent);
  stepWorker(fleet, record, { type: 'task.lost', data: { task, isOpen: type === 'task.failed' }, ...placeOf(fleet) });
}

/** The task was cancelled, or taken from its worker. */
export function loseTask(fleet: Fleet, worker: string, task: string): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) stepWorker(fleet, record, { type: 'task.lost', data: { task }, ...placeOf(fleet) });
}

/** A held task was given another plan. */
export function planTask(fleet: Fleet, worker: string, task: string, plan: Plan): void {
  const record = fleet.workers.get(worker);
  if (record === undefined) return;
  stepWorker(fleet, record, { type: 'task.planned', data: { task }, ...placeOf(fleet), facts: { plan } });
}

export function clearFilesOf(fleet: Fleet, worker: string): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) stepWorker(fleet, record, { type: 'files.cleared' });
}

/** A blocked task is worked on again at its worker's next work entry. */
export function resumeTasks(fleet: Fleet, { snapshot }: WorkerRecord): void {
  if (snapshot.value.state !== 'working') return;
  for (const task of snapshot.context.worker.tasks) {
    if (fleet.tasks.get(task)?.snapshot.value === 'blocked')
      stepTask(fleet, task, { type: 'work.resumed', ...placeOf(fleet) });
  }
}
