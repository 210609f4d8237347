/** The facts and the policy of an attempt, from what an event says of the fleet around the worker. */
import type { Facts, PolicyInForce } from '../guards/attempt.ts';
import { builtInPolicy, type Policy } from '../policy/policy.ts';
import { policySchema } from '../policy/policy-set.ts';
import type { WorkerContext } from './context.ts';
import type { Surroundings } from './events.ts';

const builtIn: PolicyInForce = Object.freeze({ name: 'default', seq: 0, policy: builtInPolicy, notes: [] });

/** The policy of an attempt that begins. @throws ZodError if the given policy is not valid */
export function policyFor(given: Surroundings | undefined): PolicyInForce {
  if (given?.inForce !== undefined) return given.inForce;
  if (given?.policy !== undefined) return { ...builtIn, policy: readPolicy(given.policy) };
  return builtIn;
}

const read = new WeakMap<object, Policy>();

/** Parsed policies by their form, so that each form is parsed once. */
function readPolicy(form: object): Policy {
  const policy = read.get(form) ?? policySchema.parse(form);
  read.set(form, policy);
  return policy;
}

export function factsFor(
  { limit, queue, tasks }: WorkerContext,
  { policy }: PolicyInForce,
  { atMs, facts }: { readonly atMs: number; readonly facts?: Surroundings | undefined },
): Facts {
  const task = tasks.at(-1);
  const bare = task === undefined ? null : { task, hooks: [], iteration: null, phase: null };
  return {
    nowMs: atMs,
    limited: facts?.limited ?? (limit !== null && (limit.untilMs === null || atMs < limit.untilMs)),
    queue: facts?.queue ?? queue ?? policy.persistence?.queue ?? 'main',
    pendingTasks: facts?.pendingTasks ?? 0,
    task: facts?.task === undefined ? bare : facts.task,
  };
}
