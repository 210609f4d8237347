/** Decides which policy applies to a worker, and so which queue (protocol.md §5 and §8). */
import type { PolicyInForce } from '../guards/attempt.ts';
import type { Check } from '../policy/checks/check.ts';
import { joinChecks, leavesOf } from '../policy/checks/form.ts';
import { isProfile } from '../policy/persistence.ts';
import { builtInPolicy } from '../policy/policy.ts';
import type { Assignment } from '../policy/policy-set.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Fleet } from './fleet.ts';

/** A decision shows at most this many notes, because a policy set may assign any number of unknown names. */
const notesMax = 16;

/**
 * Returns the first known policy among: the matching rows of `assign`, the policy of the task claimed last, the
 * worker's own, and `default`. Unless a row of `assign` matched, the checks of all held tasks' policies are combined
 * (protocol.md §5). Unknown names are skipped and noted.
 */
export function policyInForce(fleet: Fleet, worker: PolicySubject): PolicyInForce {
  if (isPlain(fleet, worker)) return withNotes(defaultOf(fleet), noNotes);
  const notes: string[] = [];
  if (worker.profile !== null && !isProfile(worker.profile))
    notes.push(`profile ${worker.profile} is unknown and ignored`);
  const { last, joined } = findPolicies(fleet, worker, notes);
  if (joined.length < 2) return withNotes(last, notes);
  const checks = joinChecks(joined.map(({ policy }) => policy.checks));
  return withNotes({ ...last, policy: { ...last.policy, checks } }, notes);
}

/** The policy that a check belongs to, and the check with its name there. */
export type CheckOrigin = { readonly policy: string; readonly check: Check };

/** Maps the names of the checks that `policyInForce` joins to their origins. Lists the members of groups, not groups. */
export function checkOrigins(fleet: Fleet, worker: PolicySubject): ReadonlyMap<string, CheckOrigin> {
  const { joined } = findPolicies(fleet, worker, []);
  const checks = leavesOf(joinChecks(joined.map(({ policy }) => policy.checks)));
  const origins = joined.flatMap(({ name, policy }) =>
    leavesOf(policy.checks).map((check) => ({ policy: name, check })),
  );
  return new Map(checks.map(({ name }, index) => [name, origins[index] as CheckOrigin]));
}

/** Finds the policy that applies last, and those whose checks are joined, each once, in the order of the claims. */
function findPolicies(
  fleet: Fleet,
  worker: PolicySubject,
  notes: string[],
): { last: NamedPolicy; joined: NamedPolicy[] } {
  const assigned = firstOf(fleet, assignedNames(fleet, worker), notes);
  if (assigned !== null) return { last: assigned, joined: [assigned] };
  const own = ownNames(worker);
  const ofTasks = worker.tasks.map(
    (task) => firstOf(fleet, [...taskNames(fleet, task), ...own], notes) ?? defaultOf(fleet),
  );
  const last = ofTasks.at(-1) ?? firstOf(fleet, own, notes) ?? defaultOf(fleet);
  const joined = new Map((ofTasks.length === 0 ? [last] : ofTasks).map((found) => [found.policy, found]));
  return { last, joined: [...joined.values()] };
}

/** Tells whether only `default` can apply, as for nearly all workers. */
const isPlain = ({ policies }: Fleet, { policy, profile, tasks }: PolicySubject): boolean =>
  policy === null && profile === null && tasks.length === 0 && policies.assign.length === 0;

const noNotes: readonly never[] = Object.freeze([]);

/**
 * The fields that decide which policy a worker gets. For an unregistered worker they come from its registration.
 */
type PolicySubject = Pick<WorkerContext, 'worker' | 'agent' | 'labels' | 'policy' | 'profile' | 'tasks'>;

type NamedPolicy = Omit<PolicyInForce, 'notes'>;
const withNotes = ({ name, seq, policy }: NamedPolicy, notes: readonly string[]) => ({ name, seq, policy, notes });

/** A policy's name and its origin for notes, e.g. `of task T-1`. */
type PolicyName = { readonly name: string; readonly origin: string };

/** Returns the first known policy, or null. */
function firstOf(fleet: Fleet, names: readonly PolicyName[], notes: string[]): NamedPolicy | null {
  for (const { name, origin } of names) {
    const found = policyNamed(fleet, name);
    if (found !== null) return found;
    const note = `policy ${name} ${origin} is unknown and passed over`;
    if (notes.length < notesMax && !notes.includes(note)) notes.push(note);
  }
  return null;
}

const assignedNames = ({ policies }: Fleet, worker: PolicySubject): PolicyName[] =>
  policies.assign
    .filter((row) => isFor(row, worker))
    .map((row) => ({ name: row.policy, origin: `assigned to worker ${worker.worker}` }));

function taskNames(fleet: Fleet, task: string): PolicyName[] {
  const name = fleet.tasks.get(task)?.snapshot.context.policy ?? null;
  return name === null ? [] : [{ name, origin: `of task ${task}` }];
}

const ownNames = ({ policy, worker }: PolicySubject): PolicyName[] =>
  policy === null ? [] : [{ name: policy, origin: `of worker ${worker}` }];

const defaultOf = (fleet: Fleet): NamedPolicy => policyNamed(fleet, 'default') as NamedPolicy;

function isFor(row: Assignment, worker: PolicySubject): boolean {
  if (row.agent !== undefined && row.agent !== worker.agent) return false;
  if (row.worker !== undefined && row.worker !== worker.worker) return false;
  return Object.entries(row.labels ?? {}).every(([key, value]) => worker.labels[key] === value);
}

function policyNamed(fleet: Fleet, name: string): NamedPolicy | null {
  const policy = fleet.policies.policies.get(name);
  if (policy !== undefined) return { name, seq: fleet.policySeq, policy };
  return name === 'default' ? { name, seq: 0, policy: builtInPolicy } : null;
}

/** Returns the worker's own queue, or the policy's, or `main`. */
export const queueOfWorker = (worker: WorkerContext, { policy }: Pick<PolicyInForce, 'policy'>): string =>
  worker.queue ?? policy.persistence?.queue ?? 'main';
