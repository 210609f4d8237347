/** A hook on a task: a condition registered at run time (protocol.md §7; seed 001, Stop Hooks). */
import type { HookForm } from '../../entries/task.ts';
import type { CheckResult, Validation } from '../../policy/checks/check-result.ts';
import type { Circumstances } from '../../policy/condition.ts';
import type { PromiseName } from '../../policy/promise.ts';
import { reasonLengthMax } from '../../values/limits.ts';
import { cutMiddle, type JsonText } from '../../values/text.ts';

/** `form` keeps only the metadata that the hook's type reads. `metadata` is all metadata as JSON, or null. */
export type Hook = {
  readonly hook: string;
  readonly enabled: boolean;
  readonly form: HookForm;
  readonly metadata: JsonText | null;
};

/**
 * `failed`: the last validation of this iteration had a failed rule. `failures`: the number of iterations in a row,
 * right before this one, that failed.
 */
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

/** The answers of remote hooks so far, by the name of their check. */
export type HookResults = Readonly<Record<string, RemoteAnswer>>;

/** The answer of a remote hook. */
export type RemoteAnswer = Pick<CheckResult, 'outcome' | 'reason' | 'action' | 'nextPrompt' | 'tookMs'> & {
  readonly checkpointData: JsonText | null;
  readonly metadata: JsonText | null;
};

export type HookAnswer = {
  readonly kind: 'answer';
  readonly action: 'complete' | 'continue' | 'escalate';
  /** Shortened for display; `reasons` has the uncut parts. */
  readonly reason: string;
  readonly reasons: readonly string[];
  readonly nextPrompt: string | null;
  readonly checkpoint: boolean;
  readonly checkpointData: JsonText | null;
  readonly metadata: () => Readonly<Record<string, unknown>>;
  /** True if the hook could not be evaluated; then `action` follows its `onError`. */
  readonly failed: boolean;
};
/** `error` is null if the hook's condition does not hold. */
export type HookSkip = { readonly kind: 'skip'; readonly error: string | null };
export type HookOutcome =
  | HookAnswer
  | HookSkip
  | { readonly kind: 'awaits'; readonly key: string; readonly name: string };

/** The evaluation of one hook, whether it decided or not (seed 001, Hook Debugging). */
export type HookRun = {
  readonly hook: string;
  readonly type: HookForm['type'];
  readonly action: HookAnswer['action'] | 'skip';
  readonly reason: string;
  readonly failed: boolean;
  /** Total time of its remote calls. */
  readonly tookMs: number;
};

/** The results of one task's hooks in a stop. `checkpoint`: the checkpoint that they request, or null. */
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
