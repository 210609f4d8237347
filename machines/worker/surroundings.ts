/** The facts and the policy of an attempt, from what an event says of the fleet around the worker. */
import type { Facts, PolicyInForce, TaskFacts } from '../guards/attempt.ts';
import { builtInPolicy, type Policy } from '../policy/policy.ts';
import { policySchema } from '../policy/policy-set.ts';
import { unusedPeriod } from '../values/usage.ts';
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
  return {
    nowMs: atMs,
    limited: facts?.limited ?? (limit !== null && (limit.untilMs === null || atMs < limit.untilMs)),
    queue: facts?.queue ?? queue ?? policy.persistence?.queue ?? 'main',
    pendingTasks: facts?.pendingTasks ?? 0,
    nextTasks: facts?.nextTasks ?? [],
    tasks: facts?.inForce === undefined ? heldTasks(tasks, facts) : (facts.tasks as readonly TaskFacts[]),
    day: facts?.day ?? null,
  };
}

function heldTasks(held: readonly string[], { task: only, tasks = [] }: Surroundings = {}): readonly TaskFacts[] {
  const given = only === undefined ? tasks : [...tasks, only];
  return held.map((task) => {
    const {
      hooks = [],
      iteration = null,
      phase = null,
      usage = unusedPeriod,
    } = given.find((it) => it.task === task) ?? {};
    return { task, hooks, iteration, phase, usage };
  });
}

/** A task of which nothing else is known. */
export const bareTask = (task: string): TaskFacts => ({
  task,
  hooks: [],
  iteration: null,
  phase: null,
  usage: unusedPeriod,
});
