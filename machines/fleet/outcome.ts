/**
 * Outcomes report what happened in a step of the fold, for logs, metrics and replies. Work to be done is not an
 * outcome: it is derived from the state (`effects.ts`).
 */
import type { AwaitedCheck } from '../guards/attempt.ts';
import type { Decision, HookResult } from '../guards/decision.ts';
import type { HookRun } from '../guards/task-hooks/hook.ts';
import type { EscalatedEntity } from '../values/escalation.ts';
import type { UsageReport } from '../values/usage.ts';

export type FoldOutcome =
  /** `openedMs`: when the attempt began, by the log's clock. */
  | { readonly kind: 'decided'; readonly decision: Decision; readonly openedMs: number }
  /** A check was requested, even if the wait ended within the same step. */
  | { readonly kind: 'checkAwaited'; readonly worker: string; readonly attempt: string; readonly check: AwaitedCheck }
  | { readonly kind: 'repeated'; readonly worker: string; readonly attempt: string }
  /** `attempt` is the id in the entry, or `seq-<seq>`. */
  | { readonly kind: 'validated'; readonly task: string; readonly attempt: string; readonly result: HookResult }
  | { readonly kind: 'hooksEvaluated'; readonly task: string; readonly runs: readonly HookRun[] }
  /** The task returned to its queue because its worker was stale for too long. */
  | { readonly kind: 'handedBack'; readonly task: string; readonly worker: string }
  /** A worker or task became escalated. */
  | { readonly kind: 'escalated'; readonly entity: EscalatedEntity; readonly id: string }
  /** An agent reported its usage since the last report. */
  | { readonly kind: 'used'; readonly worker: string; readonly task: string | null; readonly report: UsageReport }
  | {
      readonly kind: 'refused';
      readonly entity: 'worker' | 'task' | 'queue';
      readonly id: string;
      readonly type: string;
      readonly reason: string;
    };

/** The result of a step of the fold. */
export type FoldStep = {
  /** Everything that happened, in order. */
  readonly outcomes: readonly FoldOutcome[];
  /** Keys (`actorKey`, `fleetKey`) of actors whose effects, or matters for people, may have changed. */
  readonly touched: ReadonlySet<string>;
};
