/** A hook on a task: a condition that was registered at run time (protocol.md §7; seed 001, Stop Hooks). */
import type { HookForm } from '../../entries/task.ts';
import type { CheckResult, Validation } from '../../policy/checks/check-result.ts';
import type { Circumstances } from '../../policy/condition.ts';
import type { PromiseName } from '../../policy/promise.ts';
import { reasonLengthMax } from '../../values/limits.ts';
import { cutMiddle, type JsonText } from '../../values/text.ts';

/** A hook with its metadata: `form` keeps only the keys that its type reads; `metadata` has all of them, null: none. */
export type Hook = {
  readonly hook: string;
  readonly enabled: boolean;
  readonly form: HookForm;
  readonly metadata: JsonText | null;
};

/** `failures` in a row had a failed rule in their last validation; `failed`: so had this iteration's last one. */
export type Iteration = {
  readonly iteration: number;
  readonly maxIterations: number;
  readonly completionPromises: readonly PromiseName[] | null;
  readonly rules: readonly string[] | null;
  readonly failuresMax: number | null;
  readonly completed: boolean;
  readonly failures: number;
  readonly failed: boolean;
};

export type HookFacts = Circumstances & {
  readonly promises: ReadonlySet<PromiseName>;
  readonly validation: Validation;
  readonly current: Iteration | null;
};

/** Answers of remote hooks so far, by the hook's key: its id, then `/` and the index of each member on the way. */
export type HookResults = Readonly<Record<string, RemoteAnswer>>;

/** The answer of a remote hook as it is kept. */
export type RemoteAnswer = Pick<CheckResult, 'outcome' | 'reason' | 'action' | 'nextPrompt' | 'tookMs'> & {
  readonly checkpointData: JsonText | null;
  readonly metadata: JsonText | null;
};

export type HookAnswer = {
  readonly kind: 'answer';
  readonly action: 'complete' | 'continue' | 'escalate';
  /** Cut, as every reason that is shown; `reasons` has its parts, not cut. */
  readonly reason: string;
  readonly reasons: readonly string[];
  readonly nextPrompt: string | null;
  readonly checkpoint: boolean;
  readonly checkpointData: JsonText | null;
  readonly metadata: () => Readonly<Record<string, unknown>>;
  /** True if the hook could not be evaluated; its `onError` then gives `action`. */
  readonly failed: boolean;
};
/** `error` null: its condition does not hold. */
export type HookSkip = { readonly kind: 'skip'; readonly error: string | null };
export type HookOutcome =
  | HookAnswer
  | HookSkip
  | { readonly kind: 'pending'; readonly key: string; readonly name: string };

/** One evaluation of one hook, whether it decided or not: kept with the task (seed 001, Hook Debugging). */
export type HookRun = {
  readonly hook: string;
  readonly type: HookForm['type'];
  readonly action: HookAnswer['action'] | 'skip';
  readonly reason: string;
  readonly failed: boolean;
  /** How long its remote parts took, in milliseconds. */
  readonly tookMs: number;
};

/** The results of one task's hooks in a stop. `checkpoint`: what they want saved with it; null: nothing. */
export type JudgedTask = {
  readonly task: string;
  readonly runs: readonly HookRun[];
  readonly checkpoint: { readonly data: JsonText | null } | null;
};

const noMetadata = () => ({});

export const answer = (
  action: HookAnswer['action'],
  reason: string,
  more: Partial<Omit<HookAnswer, 'kind'>> = {},
): HookAnswer => ({
  kind: 'answer',
  action,
  reason: cutMiddle(reason, reasonLengthMax),
  reasons: [reason],
  nextPrompt: null,
  checkpoint: false,
  checkpointData: null,
  metadata: noMetadata,
  failed: false,
  ...more,
});
