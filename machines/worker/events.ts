/**
 * The events of a worker's machine: entries about the worker (protocol.md §3), and events that the fold derives without
 * an entry.
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
 * Facts about the fleet at `atMs` that the entry does not contain. All are optional: by default the built-in policy
 * applies, the queue is empty, and only the worker's own usage limit counts.
 */
export type Surroundings = {
  /** The policy as written under `policies:` in stopgate.yaml. */
  readonly policy?: object | undefined;
  readonly pendingTasks?: number | undefined;
  /** The first pending tasks. */
  readonly nextTasks?: readonly NextTask[] | undefined;
  readonly limited?: boolean | undefined;
  /** The held tasks in any order; the context of a task's machine fits. `task` is for a single one. */
  readonly tasks?: readonly PartialTaskFacts[] | undefined;
  readonly task?: PartialTaskFacts | undefined;
  /** The fleet's daily budget and usage; null if it has no budget. */
  readonly day?: DayUsage | null | undefined;
  /** The plan of the task, for `task.claimed` and `task.planned`. */
  readonly plan?: Plan | null | undefined;
  /** Set by the fold only: the resolved policy and the worker's queue. Then `tasks` must be complete and in order. */
  readonly inForce?: PolicyInForce | undefined;
  readonly queue?: string | undefined;
  /** If set, every verdict shows the input of its guard. */
  readonly showsInputs?: boolean | undefined;
  /** The guard at which the attempt begins. Default: the first. */
  readonly from?: GuardName | undefined;
};

/** Facts about a held task. */
type PartialTaskFacts = Pick<TaskFacts, 'task'> & Partial<TaskFacts>;

/** The sequence number and time of the entry, and facts from the fold. */
type WorkerEventBase = { readonly seq: number; readonly atMs: number; readonly facts?: Surroundings | undefined };

export type WorkerEvent =
  | EventOf<WorkerEntry, WorkerEventBase>
  | EventOf<OwnWorkerEntry, WorkerEventBase>
  /**
   * The worker no longer holds the task. `isOpen`: the task is not done, and the worker did not release it itself, so
   * `verify` includes it.
   */
  | ({
      readonly type: 'task.lost';
      readonly data: { readonly task: string; readonly isOpen?: boolean };
    } & WorkerEventBase)
  /** A held task got another plan, which is in the facts. */
  | ({ readonly type: 'task.planned'; readonly data: { readonly task: string } } & WorkerEventBase)
  /** A newer attempt or a prompt is about to supersede the open attempt. */
  | ({ readonly type: 'attempt.superseded' } & WorkerEventBase)
  /** The worker became stale while holding tasks, and its policy escalates that. */
  | ({ readonly type: 'stale.escalated'; readonly escalation: Escalation } & WorkerEventBase)
  /** Requests made at or before `sinceMs` are overdue. */
  | ({ readonly type: 'input.overdue'; readonly sinceMs: number } & WorkerEventBase)
  /** People were notified of the overdue request with this sequence number, or somebody acknowledged all of them. */
  | ({ readonly type: 'input.noticed'; readonly data: { readonly request: number } } & WorkerEventBase)
  | ({ readonly type: 'input.acknowledged'; readonly data: { readonly by: string } } & WorkerEventBase)
  | { readonly type: 'presence.changed'; readonly presence: Presence }
  | { readonly type: 'files.cleared' }
  | { readonly type: 'entry.refused'; readonly refused: RefusedEntry };

export type WorkerEventOf<T extends WorkerEvent['type']> = Extract<WorkerEvent, { type: T }>;

// Policy and facts of an attempt, from the facts of an event.

const builtIn: PolicyInForce = Object.freeze({ name: 'default', seq: 0, policy: builtInPolicy, notes: [] });

/** Returns the policy of a new attempt. @throws ZodError if the given policy is invalid */
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
    } = given.find((candidate) => candidate.task === task) ?? {};
    return { task, hooks, iteration, phase, usage };
  });
}

/** Facts about an unknown task. */
export const bareTask = (task: string): TaskFacts => ({
  task,
  hooks: [],
  iteration: null,
  phase: null,
  usage: unusedPeriod,
});
