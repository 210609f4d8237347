/** Which policy applies to a worker, and therefore which queue (protocol.md §5 and §8). */
import type { PolicyInForce } from '../guards/attempt.ts';
import { isProfile } from '../policy/persistence.ts';
import { builtInPolicy } from '../policy/policy.ts';
import type { Assignment } from '../policy/policy-set.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Fleet } from './fleet.ts';

/** How many unknown names a decision shows; a policy set may assign any number of them. */
const notesMax = 16;

/**
 * The first policy that the set has: of the rows of `assign` that fit, of the held task (the one claimed last), of the
 * worker, `default` (protocol.md §5). A name that the set does not have is passed over, and noted.
 */
export function policyInForce(fleet: Fleet, worker: WorkerContext): PolicyInForce {
  const notes: string[] = [];
  if (worker.profile !== null && !isProfile(worker.profile))
    notes.push(`profile ${worker.profile} is unknown and ignored`);
  for (const { name, of } of policyNames(fleet, worker)) {
    const found = policyNamed(fleet, name);
    if (found !== null) return withNotes(found, notes);
    if (notes.length < notesMax) notes.push(`policy ${name} ${of} is unknown and passed over`);
  }
  return withNotes(policyNamed(fleet, 'default') as Named, notes);
}

type Named = Omit<PolicyInForce, 'notes'>;
const withNotes = ({ name, seq, policy }: Named, notes: readonly string[]) => ({ name, seq, policy, notes });

function policyNames(fleet: Fleet, worker: WorkerContext): { readonly name: string; readonly of: string }[] {
  const names = fleet.policies.assign
    .filter((row) => isFor(row, worker))
    .map((row) => ({ name: row.policy, of: `assigned to worker ${worker.worker}` }));
  const task = worker.tasks.at(-1);
  const ofTask = task === undefined ? null : (fleet.tasks.get(task)?.snapshot.context.policy ?? null);
  if (ofTask !== null) names.push({ name: ofTask, of: `of task ${task}` });
  if (worker.policy !== null) names.push({ name: worker.policy, of: `of worker ${worker.worker}` });
  return names;
}

function isFor(row: Assignment, worker: WorkerContext): boolean {
  if (row.agent !== undefined && row.agent !== worker.agent) return false;
  if (row.worker !== undefined && row.worker !== worker.worker) return false;
  return Object.entries(row.labels ?? {}).every(([key, value]) => worker.labels[key] === value);
}

function policyNamed(fleet: Fleet, name: string): Named | null {
  const policy = fleet.policies.policies.get(name);
  if (policy !== undefined) return { name, seq: fleet.policySeq, policy };
  return name === 'default' ? { name, seq: 0, policy: builtInPolicy } : null;
}

/** The worker's own queue, else the policy's, else `main`. */
export const queueOfWorker = (worker: WorkerContext, { policy }: Pick<PolicyInForce, 'policy'>): string =>
  worker.queue ?? policy.persistence?.queue ?? 'main';
