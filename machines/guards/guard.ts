/**
 * A guard is a pure function of the worker and its open attempt. It passes, decides the stop, or leaves the attempt
 * open for an answer from outside. Each guard has its own file in this folder.
 */
import type { Findings } from '../policy/checks/check.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import type { Attempt, AwaitedCheck, JudgedWorker } from './attempt.ts';
import { type Decision, type GuardName, type Verdict, workGuards } from './decision.ts';
import type { JudgedTask } from './task-hooks/hook.ts';

export type GuardScope = {
  readonly worker: JudgedWorker;
  readonly attempt: Attempt;
  /** Returns the result of an earlier guard, or null if it passed before the attempt had to wait. */
  readonly resultOf: (guard: GuardName) => GuardResult | null;
};
export type Guard = (scope: GuardScope) => GuardResult;

/** The part of a decision that the deciding guard determines. */
export type Ruling = Pick<Decision, 'decision' | 'action' | 'cause' | 'reason' | 'nextPrompt'>;

/**
 * The verdict shows `detail`, the finding, and `input`, the values that it is based on. A `pass` may bring a constant
 * `verdict`, which all decisions share.
 */
export type GuardResult = {
  readonly detail: string;
  readonly input: Record<string, unknown>;
  /** Set if a check or hook could not be judged. */
  readonly isError?: true;
  /** The part of this result that the attempt keeps. */
  readonly kept?: AttemptUpdate;
} & (
  | { readonly kind: 'pass'; readonly verdict?: Verdict }
  /** `reasons`: the uncut parts of the ruling's reason. Default: the reason alone. */
  | { readonly kind: 'decides'; readonly ruling: Ruling; readonly reasons?: readonly string[] }
  | { readonly kind: 'awaits'; readonly check: AwaitedCheck }
  /** The attempt stays open until a task arrives or the hold ends. */
  | { readonly kind: 'hold' }
);

type AttemptUpdate = {
  readonly findings?: Findings;
  /** All feedback of checks, or the feedback that hooks add. */
  readonly feedback?: readonly Feedback[];
  readonly judgedTasks?: readonly JudgedTask[];
};

export const pass = (detail: string, input: Record<string, unknown> = {}): GuardResult => ({
  kind: 'pass',
  detail,
  input,
});

/** A pass with a constant detail. Result and verdict are shared, because most guards pass like this at most stops. */
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

/** The result of `retries` and `stuck` if neither `checks` nor `hooks` is about to block. */
export const nothingFailed: GuardResult = Object.freeze(pass('nothing failed'));

export type DecidingResult = Extract<GuardResult, { kind: 'decides' }>;

/** Returns the result of `checks` or `hooks` if it is about to block, or null. */
export function failureOf(scope: GuardScope): DecidingResult | null {
  for (const guard of workGuards) {
    const result = scope.resultOf(guard);
    if (result?.kind === 'decides') return result.ruling.decision === 'block' ? result : null;
    if (result !== null && result.kind !== 'pass') return null;
  }
  return null;
}

/** Returns the uncut parts of the reason. */
export const reasonsOf = ({ reasons, ruling }: DecidingResult): readonly string[] => reasons ?? [ruling.reason];

/** Blocks that only keep a worker alive have a separate count. At its cap the stop is allowed. */
export function keepAlive({ worker, attempt }: GuardScope, ruling: Ruling): Ruling {
  const max = attempt.inForce.policy.keepAlives;
  if (max === null || worker.keepAlives < max) return ruling;
  return allow('complete', 'capped', `Limit of keep-alives reached (${worker.keepAlives} of ${max})`);
}
