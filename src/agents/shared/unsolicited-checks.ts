/**
 * Checks that answer an agent although it did not ask to stop. Each is a probe that runs the policy's checks, so it
 * runs only if the policy enables it.
 */
import { checksNotRun, type Decision, usedUp, type WorkerView } from '../../../machines/index.ts';
import type { Judging } from '../../service/session-policy.ts';
import { setNewest } from '../../set-newest.ts';

/**
 * - `complete`: after a batch of tools, tells the agent that it may stop because every check passes, or what is still
 *   missing (`stopWhenComplete`).
 * - `complete-throttled`: like `complete`, but after any tool and at most every 2 s, for agents that do not mark the
 *   end of a batch.
 * - `step`: tells the agent that it may not mark a step as done (`steps: gate`).
 * - `output`: tells the agent what is missing from its structured output.
 */
export type UnsolicitedCheck = 'complete' | 'complete-throttled' | 'step' | 'output';

export const isCompletionCheck = (check: UnsolicitedCheck): boolean =>
  check === 'complete' || check === 'complete-throttled';

/** Whether to run the check. A used-up budget is always reported after tools: that only reads the view. */
export function shouldRunCheck(
  check: UnsolicitedCheck,
  { rules, budgets = [] }: Pick<WorkerView, 'rules'> & { readonly budgets?: WorkerView['budgets'] },
  judging: () => Pick<Judging, 'hasHooks'>,
): boolean {
  if (isCompletionCheck(check) && usedUp(budgets) !== null) return true;
  if (rules.checks === 0) return check === 'output' && judging().hasHooks;
  return check === 'output' || (check === 'step' ? rules.steps === 'gate' : rules.stopWhenComplete);
}

/**
 * Whether the decision has anything to report. An agent that may stop because of a cap or a resolution has not
 * completed its work, so that is not reported. A step is also refused if a check could not be judged.
 */
export function isReportable(
  check: UnsolicitedCheck,
  { decision, cause }: Pick<Decision, 'decision' | 'cause'>,
): boolean {
  if (isCompletionCheck(check)) return decision === 'allow' && (cause === 'complete' || isOverBudget(cause));
  return cause === 'incomplete' || (check === 'step' && cause === 'unjudged');
}

/** A probe has no stop reason, so it is `bypassed` only because of a budget. */
export const isOverBudget = (cause: Decision['cause']): boolean => cause === 'bypassed' || cause === 'budget';

/** Remembers which findings were reported to each agent, so that unchanged findings are reported once. */
export type ReportedFindings = {
  /**
   * Records the findings of this decision as reported.
   * @param key identifies the call; a repeated post of the same call gets the same answer
   * @returns true if there are findings that differ from the last report
   */
  note(worker: string, decision: Judged, judging: () => Pick<Judging, 'inspecting'>, key?: string): boolean;
};
type Judged = Pick<Decision, 'decision' | 'cause' | 'feedback' | 'verdicts'>;

type Report = {
  readonly findings: string;
  readonly checks: readonly string[];
  readonly key: string | undefined;
};

/** A report is typically 2 KiB, at most 64 KiB. Findings of an evicted worker are reported again. */
const reportsMax = 1_000;

/** Kept in memory: after a restart, or by another replica, findings may be reported again. */
export function createReportedFindings(): ReportedFindings {
  const reports = new Map<string, Report>();
  return {
    note(worker, decision, judging, key) {
      const found = findingsOf(decision, judging);
      const last = reports.get(worker);
      if (found.length === 0) {
        if (last !== undefined && havePassed(last.checks, decision)) reports.delete(worker);
        return false;
      }
      const findings = withoutTimes(JSON.stringify(found));
      if (last?.findings === findings) return key !== undefined && key === last.key;
      setNewest(reports, worker, { findings, checks: found.map(({ check }) => check), key }, reportsMax);
      return true;
    },
  };
}

/**
 * The failures of checks that inspect the work. An open plan, an unreported rule or a missing promise is normal during
 * the work, and the agent knows about it. Errors of checks are not findings.
 */
function findingsOf({ decision, cause, feedback, verdicts }: Judged, judging: () => Pick<Judging, 'inspecting'>) {
  if (decision !== 'block' || cause !== 'incomplete') return [];
  if (!verdicts.some(({ guard, verdict }) => guard === 'checks' && verdict === 'block')) return [];
  const { inspecting } = judging();
  return feedback.filter(({ check, outcome }) => outcome === 'fail' && inspecting.has(check));
}

/** True if all of these checks ran and passed. */
function havePassed(checks: readonly string[], decision: Judged): boolean {
  const verdict = decision.verdicts.find(({ guard }) => guard === 'checks')?.verdict;
  if (verdict === 'pass') return true;
  if (verdict !== 'block') return false;
  const open = new Set([...checksNotRun(decision), ...decision.feedback.map(({ check }) => check)]);
  return !checks.some((check) => open.has(check));
}

/** Masks durations and times, which differ in every run of the same failure. */
const withoutTimes = (text: string): string =>
  text
    .replace(/\b\d+(?:[.,]\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|min|minutes?)\b/g, '<duration>')
    .replace(/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b/g, '<time>');
