/** An open attempt to stop and the progress of its evaluation, and the facts that guards read. */
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

/** The policy that an attempt began with. `notes`: unknown names of policies or profiles that were skipped. */
export type PolicyInForce = {
  readonly name: string;
  readonly seq: number;
  readonly policy: Policy;
  readonly notes: readonly string[];
};

/**
 * A check or remote hook that waits for its answer until `deadlineMs`. `number`: its 1-based number in the attempt. A
 * check on a runner first waits for a slot: its `timeoutMs` counts from `startedMs`, which is null until then. An
 * attempt keeps it as `pending`, which is the name in snapshots and views.
 */
export type AwaitedCheck = {
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
  /** Null if persistence is off or has no timeout. */
  readonly idleLimitMs: number | null;
  readonly holdUntilMs: number;
  /** Facts about the fleet when the attempt was last evaluated. */
  readonly facts: Facts;
  /** The guard at which the evaluation continues. The fields below hold the results of the guards before it. */
  readonly guard: GuardName;
  readonly verdicts: readonly Verdict[];
  readonly feedback: readonly Feedback[];
  readonly findings: Readonly<Findings>;
  /** Answers of remote hooks, by `<task>:<key>`. */
  readonly hookResults: HookResults;
  readonly pending: AwaitedCheck | null;
  /** How many checks and hooks have been asked so far. */
  readonly pendingCount: number;
  /** How long the attempt has waited for answers from outside, by the log's clock. */
  readonly waitedMs: { readonly checks: number; readonly hooks: number };
  readonly isHeld: boolean;
  /** The results of the held tasks' hooks, in the order of the claims. */
  readonly judgedTasks: readonly JudgedTask[];
};

/** Facts about the fleet at `nowMs` (by the log's clock), which guards read besides the worker and its attempt. */
export type Facts = {
  readonly nowMs: number;
  readonly limited: boolean;
  readonly queue: string;
  readonly pendingTasks: number;
  /** The first pending tasks in claiming order. Tasks of external queues are only counted. */
  readonly nextTasks: readonly NextTask[];
  /** The held tasks, in the order of the claims. */
  readonly tasks: readonly TaskFacts[];
  /** Null if the fleet has no daily budget. */
  readonly day: DayUsage | null;
};
/** A ready task, as prompts name it. */
export type NextTask = { readonly task: string; readonly title: string | null };
/** A held task as the guards see it. `phase`: the last one that a checkpoint named. */
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
  /** False if nobody attends the session, so that it ends with its turn; null if the agent did not say. */
  readonly interactive: boolean | null;
  readonly budgetExhausted: boolean;
  /** The last pause by a person, which may be over, or null. */
  readonly pause: Pause | null;
  readonly usage: WorkerUsage;
  /** Outstanding background work in starting order. */
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

/**
 * Consecutive blocks by checks or hooks with equal reasons. `reason` is masked if the policy says so, hashed if long.
 */
export type FailureStreak = { readonly reason: string; readonly count: number };
