/**
 * Outcomes tell what happened in a step of the fold and is no state: what the state asks for is read from it
 * (`effects.ts`).
 */
import type { PendingCheck } from '../guards/attempt.ts';
import type { Decision, HookResult } from '../guards/decision.ts';
import type { HookRun } from '../guards/task-hooks/hook.ts';
import type { EscalatedEntity } from '../values/escalation.ts';
import type { UsageReport } from '../values/usage.ts';

export type Outcome =
  /** `openedMs`: when its attempt began, in the log's time. */
  | { readonly kind: 'decided'; readonly decision: Decision; readonly openedMs: number }
  /** A check was asked for, also where it is over by the end of the step. */
  | { readonly kind: 'checkPending'; readonly worker: string; readonly attempt: string; readonly check: PendingCheck }
  | { readonly kind: 'repeated'; readonly worker: string; readonly attempt: string }
  /** `attempt` is the entry's own, or `seq-<seq>`. */
  | { readonly kind: 'validated'; readonly task: string; readonly attempt: string; readonly result: HookResult }
  | { readonly kind: 'hooksEvaluated'; readonly task: string; readonly runs: readonly HookRun[] }
  /** The task went back to its queue, since its worker has been stale for too long. */
  | { readonly kind: 'handedBack'; readonly task: string; readonly worker: string }
  /** An escalation began, of a worker or task that was not escalated. */
  | { readonly kind: 'escalated'; readonly entity: EscalatedEntity; readonly id: string }
  /** An agent has reported what it used since its last report. */
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
  readonly outcomes: readonly Outcome[];
  /** The workers, tasks and queues whose effects or requests to people may have changed, and the fleet (`actorKey`, `fleetKey`). */
  readonly touched: ReadonlySet<string>;
};
