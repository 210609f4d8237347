/**
 * Refuses agents' entries that are not valid in the current state, or would exceed a limit (protocol.md §2, §3 and §7).
 * Two refusals are elsewhere: task machines refuse entries about hooks and iterations (`task/refusals.ts`), and steps
 * that would exceed the size of the state are refused where they are made (`state-size.ts`).
 */
import type { Entry, TaskEntry, WorkerEntry } from '../entries/index.ts';
import { entityOf } from '../entries/subject.ts';
import { noPlan, type Plan, planStepsMax, replaceOwnSteps, stepsOf } from '../policy/plan.ts';
import { attemptIdFault } from '../values/id.ts';
import { backgroundMax, dependentsMax, heldTasksMax, inputsMax, scopesMax } from '../values/limits.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Fleet } from './fleet.ts';
import { isKnownAttempt } from './known-attempts.ts';
import { refuseTask } from './tasks.ts';
import { refuseWorker } from './workers.ts';

/** Refuses an entry. The refusal is kept with the actor, if there is one. */
export function refuse(fleet: Fleet, entry: Entry, reason: string): void {
  const { id, type } = entry;
  const entity = entityOf(entry) as 'worker' | 'task' | 'queue';
  const worker = entity === 'worker' ? fleet.workers.get(id) : undefined;
  if (worker !== undefined) refuseWorker(fleet, worker, type, reason);
  else if (entity === 'task' && fleet.tasks.has(id)) refuseTask(fleet, id, type, reason);
  else fleet.outcomes.push({ kind: 'refused', entity, id, type, reason });
}

type AgentEntry = WorkerEntry | TaskEntry;
type AgentEntryOf<T extends AgentEntry['type']> = Extract<AgentEntry, { type: T }>;
type RefusalRules = { readonly [T in AgentEntry['type']]?: (fleet: Fleet, entry: AgentEntryOf<T>) => string | null };
type RefusalRule = (fleet: Fleet, entry: AgentEntry) => string | null;

/** Only these entries create an unknown task. */
const creating: ReadonlySet<string> = new Set([
  'task.created',
  'hook.registered',
  'iteration.started',
  'checkpoint.saved',
]);

/** Returns the reason why the entry is not valid in the current state, or null. */
export function notInState(fleet: Fleet, entry: AgentEntry): string | null {
  const { area, id, type } = entry;
  if (area === 'task' && !creating.has(type) && !fleet.tasks.has(id)) return `task ${id} is unknown`;
  return (stateRules[type] as RefusalRule | undefined)?.(fleet, entry) ?? null;
}

/** Returns the reason if the entry would exceed a limit, or null. */
export const limitReached = (fleet: Fleet, entry: AgentEntry): string | null =>
  (limitRules[entry.type] as RefusalRule | undefined)?.(fleet, entry) ?? null;

const stateRules: RefusalRules = {
  'stop.attempted': (fleet, { id, data: { attempt } }) =>
    attempt === undefined || isKnownAttempt(fleet.workers.get(id)?.known ?? null, attempt)
      ? null
      : attemptIdFault(attempt),
  'task.claimed': (fleet, { id, data: { task } }) => {
    const { ended } = workerIn(fleet, id);
    if (ended !== null) return `worker ${id} is ${ended}`;
    const found = fleet.tasks.get(task)?.snapshot;
    if (found === undefined) return null;
    const { worker: holder, outcome, after } = found.context;
    if (found.value === 'stopped') return `task ${task} is ${outcome ?? 'stopped'}`;
    if (holder !== null && holder !== id) return `task ${task} is held by ${holder}`;
    const open = openAmong(fleet, after);
    return open.length === 0 ? null : `it waits for ${open.slice(0, 3).join(', ')}`;
  },
  'task.completed': notHeld,
  'task.failed': notHeld,
  'task.released': notHeld,
};

const limitRules: RefusalRules = {
  'plan.updated': (fleet, { id, data: { steps } }) => {
    const { length } = replaceOwnSteps(workerIn(fleet, id).plan, steps);
    return length <= planStepsMax
      ? null
      : `the plan would have ${length} steps, those of held tasks included; ${planStepsMax} is the maximum`;
  },
  'step.updated': (fleet, { id, data: { step } }) => {
    const { plan } = workerIn(fleet, id);
    return plan.length < planStepsMax || plan.some((known) => known.step === step)
      ? null
      : `the plan has ${planStepsMax} steps, the maximum`;
  },
  'background.started': (fleet, entry) => {
    const { background } = workerIn(fleet, entry.id);
    return background.length < backgroundMax || background.some(({ id }) => id === entry.data.id)
      ? null
      : `${backgroundMax} background works are outstanding, the maximum`;
  },
  'input.requested': (fleet, { id, data: { request = null } }) => {
    const { inputs } = workerIn(fleet, id);
    return inputs.length < inputsMax || inputs.some((open) => open.request === request)
      ? null
      : `${inputsMax} questions are open, the maximum`;
  },
  'limit.reached': (fleet, { id, data: { scope } }) => {
    const { scopes } = workerIn(fleet, id);
    return scope === undefined || scopes.length < scopesMax || scopes.includes(scope)
      ? null
      : `the worker has reported ${scopesMax} scopes, the maximum`;
  },
  'task.claimed': (fleet, { id, data: { task } }) => {
    const worker = workerIn(fleet, id);
    if (worker.tasks.includes(task)) return null;
    if (worker.tasks.length >= heldTasksMax) return `worker ${id} holds ${heldTasksMax} tasks, the maximum`;
    return planLimit(worker, task, fleet.tasks.get(task)?.snapshot.context.plan ?? noPlan);
  },
  'task.created': (fleet, { id, data: { after = [], plan } }) => {
    // Limited because completing a task visits all its dependents.
    const full = after.find((before) => {
      const known = fleet.dependents.get(before);
      return known !== undefined && known.size >= dependentsMax && !known.has(id);
    });
    if (full !== undefined) return `task ${full} has ${dependentsMax} dependents, the maximum`;
    // The plan of a held task is part of its worker's plan.
    const holder = fleet.workers.get(fleet.tasks.get(id)?.snapshot.context.worker ?? '');
    return plan === undefined || holder === undefined ? null : planLimit(holder.snapshot.context.worker, id, plan);
  },
};

const workerIn = (fleet: Fleet, worker: string): WorkerContext =>
  fleet.workers.get(worker)?.snapshot.context.worker as WorkerContext;

function notHeld(
  fleet: Fleet,
  { id, data: { task } }: AgentEntryOf<'task.completed' | 'task.failed' | 'task.released'>,
) {
  if (workerIn(fleet, id).tasks.includes(task)) return null;
  return fleet.tasks.has(task) ? `worker ${id} does not hold task ${task}` : `task ${task} is unknown`;
}

/** Refuses steps that do not fit into the worker's plan, where they would replace the task's earlier steps. */
function planLimit({ plan }: WorkerContext, task: string, steps: Plan): string | null {
  const count = plan.length - stepsOf(plan, task).length + steps.length;
  return count <= planStepsMax ? null : `the plan would have ${count} steps; ${planStepsMax} is the maximum`;
}

/** Returns the tasks of `after` that are not completed. */
export const openAmong = (fleet: Fleet, after: readonly string[]): string[] =>
  after.filter((task) => fleet.tasks.get(task)?.snapshot.context.outcome !== 'completed');
