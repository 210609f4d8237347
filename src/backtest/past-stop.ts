/** The findings of a backtest: the stops of sessions, and how each would have been answered. */
import type { Decision } from '../../machines/index.ts';

/**
 * `isJudged` is false if the answer depends on `missing`, the checks that cannot be run in the past. `needsDollars`: the
 * policy has a budget in dollars, and the answer would be another one if it were used up.
 */
export type PastStop = {
  readonly decision: Decision;
  readonly policy: string;
  readonly missing: readonly string[];
  readonly isJudged: boolean;
  readonly needsDollars: boolean;
};

export type StopOutcome = 'allowed' | 'blocked' | 'escalated' | 'unjudged';

/** One stop of a session. */
export type JudgedStop = {
  readonly attempt: string;
  readonly at: string;
  readonly worker: string;
  /** The kind of the sub-agent that stopped. Null for the session itself. */
  readonly subagent: string | null;
  readonly outcome: StopOutcome;
  readonly policy: string;
  /** The checks that failed or, if another guard decided, its name. Empty if the stop was allowed. */
  readonly by: readonly string[];
  readonly cause: Decision['cause'];
  readonly reason: string;
  /** The checks without a result, or the budget without dollars, if the answer depends on them. */
  readonly missing: readonly string[];
  /** True if the worker stopped again without a person's prompt, because a hook or a notification kept it working. */
  again: boolean;
  /** A person's next prompt in the session, if the stop was blocked and one came. */
  next: { readonly at: string; readonly afterMs: number; readonly prompt: string } | null;
};

export type JudgedSession = {
  readonly agent: string;
  readonly session: string;
  readonly file: string;
  readonly cwd: string | null;
  /** The first prompt of a person. */
  readonly prompt: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly stops: readonly JudgedStop[];
  /** Lines that could not be read. */
  readonly damaged: number;
  /** Hook calls that the adapter or the fold refused. */
  readonly refused: number;
  /** Checks that did not pass, as `policy/check`. */
  readonly fired: readonly string[];
};
