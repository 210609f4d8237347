/** An attempt: one try of a worker to stop, from `stop.attempted` to its decision, with how far it has been judged. */
import type { AttemptFields } from '../entries/worker.ts';
import type { BackgroundWork } from '../policy/background.ts';
import type { DayUsage, TaskUsage } from '../policy/budget.ts';
import type { EffectfulCheck, Findings } from '../policy/checks/check.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import type { Evidence } from '../policy/commands.ts';
import type { Plan } from '../policy/plan.ts';
import type { Policy } from '../policy/policy.ts';
import type { Escalation } from '../values/escalation.ts';
import type { Pause } from '../values/pause.ts';
import type { WorkerUsage } from '../values/usage.ts';
import type { GuardName, Verdict } from './decision.ts';
import type { Hook, HookResults, Iteration, JudgedTask } from './task-hooks/hook.ts';

/** The policy that an attempt began with. `notes`: names that were unknown, so that `default` is in force instead. */
export type PolicyInForce = {
  readonly name: string;
  readonly seq: number;
  readonly policy: Policy;
  readonly notes: readonly string[];
};

/**
 * A check or remote hook that waits for its answer until `deadlineMs`. `number`: which one of the attempt, 1-based. One
 * on a runner waits for its place first, and has its `timeoutMs` from `startedMs` on; null: it has no place yet.
 */
export type PendingCheck = {
  readonly number: number;
  readonly name: string;
  readonly sinceMs: number;
  readonly startedMs: number | null;
  readonly timeoutMs: number;
  readonly deadlineMs: number;
} & (
  | { readonly by: 'checks'; readonly check: EffectfulCheck }
  | { readonly by: 'hooks'; readonly task: string; readonly key: string; readonly remote: string }
);

export type Attempt = {
  readonly attempt: string;
  readonly seq: number;
  readonly atMs: number;
  readonly fields: AttemptFields;
  readonly inForce: PolicyInForce;
  /** It is null if persistence is off or has no timeout. */
  readonly idleLimitMs: number | null;
  readonly holdUntilMs: number;
  /** The fleet around the worker when the attempt was last evaluated. */
  readonly facts: Facts;
  /** The guard at which the evaluation stands; the fields below hold the results of the guards before it. */
  readonly guard: GuardName;
  readonly verdicts: readonly Verdict[];
  readonly feedback: readonly Feedback[];
  readonly findings: Readonly<Findings>;
  /** The results by `<task>:<key>`. */
  readonly hookResults: HookResults;
  readonly pending: PendingCheck | null;
  /** The number of checks that have been pending so far. */
  readonly pendingCount: number;
  /** The time that the attempt has waited for answers from outside, in milliseconds of the log's time. */
  readonly waitedMs: { readonly checks: number; readonly hooks: number };
  readonly isHeld: boolean;
  /** The results of the hooks of the held tasks, in the order of the claims. */
  readonly judgedTasks: readonly JudgedTask[];
};

/** The facts that guards see beside the worker and its attempt: the fleet around it, at `nowMs` of the log's time. */
export type Facts = {
  readonly nowMs: number;
  readonly limited: boolean;
  readonly queue: string;
  readonly pendingTasks: number;
  /** The first of them, in the order in which they should be claimed; those that are reported from elsewhere have no name. */
  readonly nextTasks: readonly NextTask[];
  /** The held tasks, in the order of the claims. */
  readonly tasks: readonly TaskFacts[];
  /** It is null if the fleet has no budget of the day. */
  readonly day: DayUsage | null;
};
/** A task that waits in a queue, as a worker is informed of it. */
export type NextTask = { readonly task: string; readonly title: string | null };
/** A held task as the guards see it: its hooks, its current iteration, the phase of its last checkpoint, what it used. */
export type TaskFacts = {
  readonly task: string;
  readonly hooks: readonly Hook[];
  readonly iteration: Iteration | null;
  readonly phase: string | null;
  readonly usage: TaskUsage;
};

/** The worker as the guards see it. */
export type JudgedWorker = Evidence & {
  readonly worker: string;
  readonly fleet: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ended: 'ended' | 'retired' | null;
  readonly escalation: Escalation | null;
  readonly agent: string | null;
  /** False: no person is at the session, which ends with its turn. Null: the agent did not say. */
  readonly interactive: boolean | null;
  readonly budgetExhausted: boolean;
  /** A person's pause, which may be over; null: none. */
  readonly pause: Pause | null;
  readonly usage: WorkerUsage;
  /** Outstanding background work, in the order in which it started. */
  readonly background: readonly BackgroundWork[];
  readonly awaitsInput: boolean;
  readonly retryCount: number;
  readonly keepAlives: number;
  readonly failureStreak: FailureStreak | null;
  readonly plan: Plan;
  readonly files: readonly string[];
  /** A tool may have changed any file since `files` was last emptied. */
  readonly filesUnknown: boolean;
  readonly tasks: readonly string[];
  readonly activeMs: number;
};

/** Blocks by checks or hooks in a row, all for the same reason; it is masked where the policy says so, and hashed where it is long. */
export type FailureStreak = { readonly reason: string; readonly count: number };
