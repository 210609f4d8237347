/** What the guards look at around a worker: policy, usage limits, presence, queue, task (protocol 4, 5 and 8). */
import type { Facts, PolicyInForce, TaskFacts } from '../guards/attempt.ts';
import { isProfile } from '../policy/persistence.ts';
import type { Assignment } from '../policy/policy-set.ts';
import { phaseOf } from '../task/task.ts';
import type { Presence } from '../values/states.ts';
import type { WorkerContext } from '../worker/context.ts';
import { type Fleet, pendingIn, policyNamed, type WorkerRecord } from './fleet.ts';

/** Active within two minutes, stale from the first millisecond after (seed 004, Rate Limit Considerations). */
export const staleAfterMs = 120_001;

/** A held task's own policy (of the one claimed last), else the assigned one, else the one that the worker names. */
export function policyInForce(fleet: Fleet, worker: WorkerContext): PolicyInForce {
  const task = worker.tasks.at(-1);
  const ofTask = task === undefined ? null : (fleet.tasks.get(task)?.snapshot.context.policy ?? null);
  const assigned = fleet.policies.assign.find((row) => isFor(row, worker))?.policy;
  const name = ofTask ?? assigned ?? worker.policy ?? 'default';
  const found = policyNamed(fleet, name);
  const notes: string[] = [];
  if (found === null)
    notes.push(
      `policy ${name} of ${ofTask === name ? `task ${task}` : `worker ${worker.worker}`} is unknown: default holds`,
    );
  if (worker.profile !== null && !isProfile(worker.profile))
    notes.push(`profile ${worker.profile} is unknown and ignored`);
  return { ...(found ?? (policyNamed(fleet, 'default') as Omit<PolicyInForce, 'notes'>)), notes };
}

function isFor(row: Assignment, worker: WorkerContext): boolean {
  if (row.agent !== undefined && row.agent !== worker.agent) return false;
  if (row.worker !== undefined && row.worker !== worker.worker) return false;
  return Object.entries(row.labels ?? {}).every(([key, value]) => worker.labels[key] === value);
}

/** The worker's own queue, else the policy's, else `main`. */
export const queueOfWorker = (worker: WorkerContext, { policy }: Pick<PolicyInForce, 'policy'>): string =>
  worker.queue ?? policy.persistence?.queue ?? 'main';

export function factsFor(fleet: Fleet, worker: WorkerContext, inForce: PolicyInForce, nowMs = fleet.nowMs): Facts {
  const queue = queueOfWorker(worker, inForce);
  return {
    nowMs,
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

/** Over at exactly `until`. A scope's limit holds for every worker that ever reported that scope. */
export function isLimited(fleet: Fleet, worker: WorkerContext, nowMs: number): boolean {
  const holds = (limit: { readonly untilMs: number | null } | null | undefined) =>
    limit !== null && limit !== undefined && (limit.untilMs === null || nowMs < limit.untilMs);
  return holds(worker.limit) || worker.scopes.some((scope) => holds(fleet.scopes.get(scope)?.limit));
}

export function presenceAt(fleet: Fleet, record: WorkerRecord, nowMs: number): Presence {
  if (isLimited(fleet, record.snapshot.context.worker, nowMs)) return 'limited';
  return nowMs - record.lastSeenMs >= staleAfterMs ? 'stale' : 'active';
}

export function refreshPresence(fleet: Fleet, record: WorkerRecord): void {
  const presence = presenceAt(fleet, record, fleet.nowMs);
  if (record.snapshot.value.presence === presence) return;
  record.snapshot = fleet.worker.next(record.snapshot, { type: 'presence.changed', presence });
  const { state } = record.snapshot.value;
  fleet.watcher?.worker(record.snapshot.context.worker.worker, state, state, 'presence.changed');
}
