/** Which policy holds for a worker, and so which queue (protocol.md §5 and §8). */
import type { PolicyInForce } from '../guards/attempt.ts';
import { isProfile } from '../policy/persistence.ts';
import { builtInPolicy } from '../policy/policy.ts';
import type { Assignment } from '../policy/policy-set.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Fleet } from './fleet.ts';

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

function policyNamed(fleet: Fleet, name: string): Omit<PolicyInForce, 'notes'> | null {
  const policy = fleet.policies.policies.get(name);
  if (policy !== undefined) return { name, seq: fleet.policySeq, policy };
  return name === 'default' ? { name, seq: 0, policy: builtInPolicy } : null;
}

/** The worker's own queue, else the policy's, else `main`. */
export const queueOfWorker = (worker: WorkerContext, { policy }: Pick<PolicyInForce, 'policy'>): string =>
  worker.queue ?? policy.persistence?.queue ?? 'main';
