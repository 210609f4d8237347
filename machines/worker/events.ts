/**
 * The events of a worker's machine: the entries of protocol.md §3 about a worker, and what the fold adds where there is
 * no entry.
 */
import type { EventOf, OwnWorkerEntry, WorkerEntry } from '../entries/index.ts';
import type { RefusedEntry } from '../entries/refusal.ts';
import type { Facts, NextTask, PolicyInForce, TaskFacts } from '../guards/attempt.ts';
import type { GuardName } from '../guards/decision.ts';
import type { DayUsage } from '../policy/budget.ts';
import type { Plan } from '../policy/plan.ts';
import { builtInPolicy } from '../policy/policy.ts';
import { policySchema } from '../policy/policy-set.ts';
import type { Escalation } from '../values/escalation.ts';
import type { Presence } from '../values/states.ts';
import { unusedPeriod } from '../values/usage.ts';
import type { WorkerContext } from './context.ts';

/**
 * The fleet around the worker at `atMs`, which the entry itself does not say. All of it may be left out: then the
 * built-in policy holds, the queue is empty and a usage limit is the worker's own.
 */
export type Surroundings = {
  /** The policy in the configuration's form, as under `policies:` in stopgate.yaml. */
  readonly policy?: object | undefined;
  readonly pendingTasks?: number | undefined;
  /** The first of them. */
  readonly nextTasks?: readonly NextTask[] | undefined;
  readonly limited?: boolean | undefined;
  /** The held tasks, in any order: what a task's machine has as its context fits. `task`: the only one. */
  readonly tasks?: readonly GivenTask[] | undefined;
  readonly task?: GivenTask | undefined;
  /** The fleet's budget and its usage on this day; null: it has no budget. */
  readonly day?: DayUsage | null | undefined;
  /** The task's own plan, with a claim or a new plan of the task. */
  readonly plan?: Plan | null | undefined;
  /** The fold's own: the policy as it was found, and the worker's queue. `tasks` are complete and in order then. */
  readonly inForce?: PolicyInForce | undefined;
  readonly queue?: string | undefined;
  /** Every verdict shows the input of its guard. */
  readonly showsInputs?: boolean | undefined;
  /** The guard at which an attempt begins. */
  readonly from?: GuardName | undefined;
};

/**
 * The facts about a held task: its hooks, its iteration, the phase of its last checkpoint that named one, its usage.
 */
export type GivenTask = Pick<TaskFacts, 'task'> & Partial<TaskFacts>;

/** `seq` and `atMs`: the entry's place and time in the log. */
type Place = { readonly seq: number; readonly atMs: number; readonly facts?: Surroundings | undefined };

export type WorkerEvent =
  | EventOf<WorkerEntry, Place>
  | EventOf<OwnWorkerEntry, Place>
  /**
   * A held task is no longer this worker's. `isOpen`: the task is still to be done, and the worker did not give it back
   * itself, so `verify` asks about it.
   */
  | ({ readonly type: 'task.lost'; readonly data: { readonly task: string; readonly isOpen?: boolean } } & Place)
  /** A held task was given another plan, in its facts. */
  | ({ readonly type: 'task.planned'; readonly data: { readonly task: string } } & Place)
  /** Another attempt, or a prompt, is about to take the place of the open one. */
  | ({ readonly type: 'attempt.superseded' } & Place)
  /** The worker is stale and holds a task, and its policy escalates that. */
  | ({ readonly type: 'stale.escalated'; readonly escalation: Escalation } & Place)
  /** Requests that were made at `sinceMs` or before have waited for a person for too long. */
  | ({ readonly type: 'input.overdue'; readonly sinceMs: number } & Place)
  /** People were notified of the overdue request of this entry; or somebody has acknowledged all of them. */
  | ({ readonly type: 'input.noticed'; readonly data: { readonly request: number } } & Place)
  | ({ readonly type: 'input.acknowledged'; readonly data: { readonly by: string } } & Place)
  | { readonly type: 'presence.changed'; readonly presence: Presence }
  | { readonly type: 'files.cleared' }
  | { readonly type: 'entry.refused'; readonly refused: RefusedEntry };

export type On<T extends WorkerEvent['type']> = Extract<WorkerEvent, { type: T }>;

// The policy and the facts of an attempt, from what an event says of the fleet around the worker.

const builtIn: PolicyInForce = Object.freeze({ name: 'default', seq: 0, policy: builtInPolicy, notes: [] });

/** The policy of an attempt that begins. @throws ZodError if the given policy is not valid */
export function policyFor(given: Surroundings | undefined): PolicyInForce {
  if (given?.inForce !== undefined) return given.inForce;
  if (given?.policy !== undefined) return { ...builtIn, policy: policySchema.parse(given.policy) };
  return builtIn;
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
