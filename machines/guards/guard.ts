/**
 * A guard: one reason for which a stop may be decided. A pure function of the worker and its open attempt: it passes,
 * decides, or leaves the attempt open for an answer from outside. Each guard has its own file beside this one.
 */
import type { Findings } from '../policy/checks/check.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import type { Attempt, JudgedWorker, PendingCheck } from './attempt.ts';
import { type Decision, type GuardName, type Verdict, workGuards } from './decision.ts';
import type { JudgedTask } from './task-hooks/hook.ts';

export type GuardScope = {
  readonly worker: JudgedWorker;
  readonly attempt: Attempt;
  /** The result of a guard before this one. Null: it passed before the attempt had to wait, and is not asked again. */
  readonly resultOf: (guard: GuardName) => GuardResult | null;
};
export type Guard = (scope: GuardScope) => GuardResult;

/** The decision of a guard that decides. */
export type Ruling = Pick<Decision, 'decision' | 'action' | 'cause' | 'reason' | 'nextPrompt'>;

/** `detail` (what was found) and `input` (from which values) are shown in the verdict. */
export type GuardResult = {
  readonly detail: string;
  readonly input: Record<string, unknown>;
  /** A check could not be judged. */
  readonly isError?: true;
  /** The part of this result that the attempt keeps. */
  readonly kept?: Kept;
} /** `verdict`: the one for the decision, if all decisions can share it. */ & (
  | { readonly kind: 'pass'; readonly verdict?: Verdict }
  /** `reasons`: the parts of the ruling's reason, not cut; default: the reason alone. */
  | { readonly kind: 'decides'; readonly ruling: Ruling; readonly reasons?: readonly string[] }
  | { readonly kind: 'pending'; readonly check: PendingCheck }
  /** The attempt is kept open until a task comes or time is up. */
  | { readonly kind: 'hold' }
);

type Kept = {
  readonly findings?: Findings;
  /** All that is known of checks, or what hooks add to it. */
  readonly feedback?: readonly Feedback[];
  readonly judgedTasks?: readonly JudgedTask[];
};

export const pass = (detail: string, input: Record<string, unknown> = {}): GuardResult => ({
  kind: 'pass',
  detail,
  input,
});

/** A pass with a constant detail. The result and its verdict are shared: most guards of most stops pass in this way. */
export const constantPass = (guard: GuardName, detail: string, input: Record<string, unknown> = {}): GuardResult =>
  Object.freeze({
    kind: 'pass',
    detail,
    input: Object.freeze(input),
    verdict: sharedVerdict(guard, detail),
  });

export const sharedVerdict = (guard: GuardName, detail: string): Verdict =>
  Object.freeze({ guard, verdict: 'pass', detail });

export const decide = (ruling: Ruling, input: Record<string, unknown>, detail = ruling.reason): GuardResult => ({
  kind: 'decides',
  detail,
  input,
  ruling,
});

export const allow = (action: Ruling['action'], cause: Ruling['cause'], reason: string): Ruling => ({
  decision: 'allow',
  action,
  cause,
  reason,
  nextPrompt: null,
});

export const block = (cause: Ruling['cause'], reason: string, nextPrompt: string): Ruling => ({
  decision: 'block',
  action: 'continue',
  cause,
  reason,
  nextPrompt,
});

/** `retries` and `stuck` look at the failure for which `checks` or `hooks` is about to block. */
export const nothingFailed: GuardResult = Object.freeze(pass('nothing failed'));

export type DecidingResult = Extract<GuardResult, { kind: 'decides' }>;

/** The result of `checks` or `hooks` that blocks; null: neither does. */
export function failureOf(scope: GuardScope): DecidingResult | null {
  for (const guard of workGuards) {
    const result = scope.resultOf(guard);
    if (result?.kind === 'decides') return result.ruling.decision === 'block' ? result : null;
    if (result !== null && result.kind !== 'pass') return null;
  }
  return null;
}

/** Says why a guard decides, in parts that are not cut. */
export const reasonsOf = ({ reasons, ruling }: DecidingResult): readonly string[] => reasons ?? [ruling.reason];

/** Blocks that only keep a worker alive are counted separately, and their cap allows the stop. */
export function keepAlive({ worker, attempt }: GuardScope, ruling: Ruling): Ruling {
  const max = attempt.inForce.policy.keepAlives;
  if (max === null || worker.keepAlives < max) return ruling;
  return allow('complete', 'capped', `Kept alive ${worker.keepAlives} times, the most that the policy allows`);
}
