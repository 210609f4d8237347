/**
 * A guard: one reason for which a stop may be decided. A pure function of the worker and its open attempt: it passes,
 * decides, or leaves the attempt open for an answer from outside. Each guard has its own file beside this one.
 */
import type { Findings } from '../policy/checks/check.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import type { JsonText } from '../values/json-text.ts';
import type { Attempt, JudgedWorker, PendingCheck } from './attempt.ts';
import type { Decision } from './decision.ts';
import type { GuardName } from './names.ts';
import type { HookRun } from './task-hooks/hook.ts';

export type GuardScope = {
  readonly worker: JudgedWorker;
  readonly attempt: Attempt;
  /** What another guard makes of the same attempt. */
  readonly resultOf: (guard: GuardName) => GuardResult;
};
export type Guard = (scope: GuardScope) => GuardResult;

/** What a guard that decides makes of the stop. */
export type Ruling = Pick<Decision, 'decision' | 'action' | 'cause' | 'reason' | 'nextPrompt'>;

/** `detail` and `input` are shown in the verdict: what was found, and from what. */
export type GuardResult = {
  readonly detail: string;
  readonly input: Record<string, unknown>;
  /** A check could not be judged. */
  readonly isError?: true;
  /** What the attempt keeps of it. */
  readonly kept?: Kept;
} & (
  | { readonly kind: 'pass' }
  /** `reasons`: why, whole and in parts, where the ruling's reason may be cut. */
  | { readonly kind: 'decides'; readonly ruling: Ruling; readonly reasons?: readonly string[] }
  | { readonly kind: 'pending'; readonly check: PendingCheck }
  /** The attempt is kept open until a task comes or time is up. */
  | { readonly kind: 'hold' }
);

export type Kept = {
  readonly findings?: Findings;
  /** All that is known of checks, or what hooks add to it. */
  readonly feedback?: readonly Feedback[];
  readonly checkpoint?: { readonly data: JsonText | null };
  readonly hookRuns?: readonly HookRun[];
};

export const pass = (detail: string, input: Record<string, unknown> = {}): GuardResult => ({
  kind: 'pass',
  detail,
  input,
});

/** The same for what is found again and again: one object serves all. */
export const constantPass = (detail: string, input: Record<string, unknown> = {}): GuardResult =>
  Object.freeze(pass(detail, Object.freeze(input)));

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
