/** What happened in a step of the fold; each step returns its outcomes. */
import type { PendingCheck } from '../guards/attempt.ts';
import type { Decision, HookResult } from '../guards/decision.ts';
import type { HookRun } from '../guards/task-hooks/hook.ts';
import type { EscalatedEntity } from '../values/escalation.ts';
import type { UsageReport } from '../values/usage.ts';

export type Outcome =
  /** `openedMs`: when its attempt began, in the log's time. */
  | { readonly kind: 'decided'; readonly decision: Decision; readonly openedMs: number }
  | { readonly kind: 'checkPending'; readonly worker: string; readonly attempt: string; readonly check: PendingCheck }
  | { readonly kind: 'repeated'; readonly worker: string; readonly attempt: string }
  | { readonly kind: 'accepted'; readonly worker: string; readonly attempt: string; readonly replica: string }
  /** `attempt` is the entry's own, or `seq-<seq>`. */
  | { readonly kind: 'validated'; readonly task: string; readonly attempt: string; readonly result: HookResult }
  /** An `iteration.validated` waits for the answer of a remote hook. */
  | { readonly kind: 'hookPending'; readonly task: string; readonly attempt: string }
  | { readonly kind: 'hooksEvaluated'; readonly task: string; readonly runs: readonly HookRun[] }
  /** The task went back to its queue, since its worker has been stale for too long. */
  | { readonly kind: 'handedBack'; readonly task: string; readonly worker: string }
  /** An escalation began, was acknowledged, was notified, or ended. */
  | { readonly kind: 'escalation'; readonly entity: EscalatedEntity; readonly id: string }
  /** The worker's input requests have changed: a new one, an answer, or one that was withdrawn. */
  | { readonly kind: 'inputs'; readonly worker: string }
  /** An agent has reported what it used since its last report. */
  | { readonly kind: 'used'; readonly worker: string; readonly report: UsageReport }
  | {
      readonly kind: 'refused';
      readonly entity: 'worker' | 'task';
      readonly id: string;
      readonly type: string;
      readonly reason: string;
    };
