/** An attempt: one try of a worker to stop, from `stop.attempted` to its decision, with how far it has been judged. */

import type { AttemptFields } from '../entries/attempt.ts';
import type { EffectfulCheck, Findings } from '../policy/checks/check.ts';
import type { CheckResult, Feedback } from '../policy/checks/check-result.ts';
import type { Plan } from '../policy/plan.ts';
import type { Policy } from '../policy/policy.ts';
import type { Escalation } from '../values/escalation.ts';
import type { Decision, GuardName, Verdict } from './decision.ts';
import type { Hook, HookOpinion, HookResults, Iteration } from './task-hook.ts';

/** The policy that an attempt began with. `notes`: what was unknown, so that `default` holds instead. */
export type PolicyInForce = {
  readonly name: string;
  readonly seq: number;
  readonly policy: Policy;
  readonly notes: readonly string[];
};

/** A question to the world outside, open until its answer or `deadlineMs`. `number`: the how-manieth of the attempt. */
export type Ask = {
  readonly number: number;
  readonly name: string;
  readonly askedMs: number;
  readonly deadlineMs: number;
} & (
  | { readonly by: 'checks'; readonly check: EffectfulCheck }
  | { readonly by: 'hooks'; readonly key: string; readonly remote: string }
);

export type Attempt = {
  readonly attempt: string;
  readonly seq: number;
  readonly atMs: number;
  readonly fields: AttemptFields;
  readonly inForce: PolicyInForce;
  /** Null: persistence is off or has no timeout. */
  readonly idleLimitMs: number | null;
  readonly holdUntilMs: number;
  /** Where the next look begins, and what was found before it. */
  readonly guard: GuardName;
  readonly verdicts: readonly Verdict[];
  readonly feedback: readonly Feedback[];
  readonly findings: Readonly<Findings>;
  /** By `<task>:<key>`. */
  readonly hookResults: HookResults;
  readonly asks: number;
  readonly asked: Ask | null;
  readonly holding: boolean;
  /** Guards 8 and 9 have passed: a row of equal failures ends there. */
  readonly passed: boolean;
  /** What the hooks want saved with the task. */
  readonly checkpoint: { readonly data: unknown } | null;
  /** What each hook that was asked said. */
  readonly opinions: readonly HookOpinion[];
};

/** What the guards look at beside the worker and its attempt: the fleet around it, at `nowMs` of the log's time. */
export type Facts = {
  readonly nowMs: number;
  readonly limited: boolean;
  readonly queue: string;
  readonly pendingTasks: number;
  /** The held task that was claimed last. */
  readonly task: TaskFacts | null;
  /** Milliseconds on a stopwatch, for `tookMs` alone. */
  readonly stopwatch: () => number;
};
export type TaskFacts = {
  readonly task: string;
  readonly hooks: readonly Hook[];
  readonly iteration: Iteration | null;
  readonly phase: string | null;
};

/** The worker as the guards see it. */
export type Judged = {
  readonly worker: string;
  readonly fleet: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ended: 'ended' | 'retired' | null;
  readonly escalation: Escalation | null;
  readonly budgetExhausted: boolean;
  readonly background: readonly string[];
  readonly awaitsInput: boolean;
  readonly retryCount: number;
  readonly keepAlives: number;
  readonly stuck: { readonly words: string; readonly count: number } | null;
  readonly plan: Plan;
  readonly files: readonly string[];
  readonly tasks: readonly string[];
  readonly activeMs: number;
};

/** What a guard that speaks says. */
export type Ruling = Pick<Decision, 'decision' | 'action' | 'cause' | 'reason' | 'nextPrompt'>;

/** An answer counts for the attempt that is open and for what it asks just now. */
export const holdsAnswer = (attempt: Attempt, result: CheckResult): boolean =>
  attempt.attempt === result.attempt && attempt.asked?.name === result.check;
