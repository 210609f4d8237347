/**
 * Checks that answer an agent although it did not ask to stop. A check is a probe and runs the policy's checks, so it
 * runs only where the policy wants it.
 */
import { checksNotRun, type Decision, usedUp, type WorkerView } from '../../../machines/index.ts';
import { setNewest } from '../../newest.ts';
import type { Judging } from '../../service/session-policy.ts';

/**
 * - `complete`: after a batch of tools, tells the agent that it may stop, because every check passes, or what a check has
 *   found to be missing (`stopWhenComplete`).
 * - `complete-throttled`: the same after any tool, for an agent that does not mark the end of a batch; at most every 2 s.
 * - `step`: tells the agent that it may not mark a step as done (`steps: gate`).
 * - `output`: tells the agent what its structured output still lacks.
 */
export type UnsolicitedCheck = 'complete' | 'complete-throttled' | 'step' | 'output';

export const isForComplete = (check: UnsolicitedCheck): boolean =>
  check === 'complete' || check === 'complete-throttled';

/** An agent whose budget is used up is told so at the end of its tools, too. Only a view is looked at: that costs nothing. */
export function isWanted(
  check: UnsolicitedCheck,
  { rules, budgets = [] }: Pick<WorkerView, 'rules'> & { readonly budgets?: WorkerView['budgets'] },
  judging: () => Pick<Judging, 'hasHooks'>,
): boolean {
  if (isForComplete(check) && usedUp(budgets) !== null) return true;
  if (rules.checks === 0) return check === 'output' && judging().hasHooks;
  return check === 'output' || (check === 'step' ? rules.steps === 'gate' : rules.stopWhenComplete);
}

/**
 * Is there something to tell? A cap or a resolution lets an agent stop, but does not mean that its work is complete. What
 * could not be judged is no pass either, so a step is refused then.
 */
export function isNews(check: UnsolicitedCheck, { decision, cause }: Pick<Decision, 'decision' | 'cause'>): boolean {
  if (isForComplete(check)) return decision === 'allow' && (cause === 'complete' || isOverBudget(cause));
  return cause === 'incomplete' || (check === 'step' && cause === 'unjudged');
}

/** `bypassed` is what a probe gives for a budget alone: it has no stop reason. */
export const isOverBudget = (cause: Decision['cause']): boolean => cause === 'bypassed' || cause === 'budget';

// What a check finds missing after a batch of tools is told to the agent once, until it changes.

export type DifferencesTold = {
  /**
   * Keeps what this decision tells the agent.
   * @param key names the call; another post of the same call gets the same answer
   * @returns true if a check that looks at the work has found something that the agent was not told last
   */
  note(worker: string, decision: Judged, judging: () => Pick<Judging, 'inspecting'>, key?: string): boolean;
};
type Judged = Pick<Decision, 'decision' | 'cause' | 'feedback' | 'verdicts'>;

type Told = {
  readonly difference: string;
  readonly checks: readonly string[];
  readonly key: string | undefined;
};

/** One holds the feedback of a decision: 2 KiB as a rule, 64 KiB at most. What is forgotten is told once more. */
const toldMax = 1_000;

/** It is kept by this replica alone: after a restart the agent may be told the same once more. */
export function createDifferencesTold(): DifferencesTold {
  const told = new Map<string, Told>();
  return {
    note(worker, decision, judging, key) {
      const found = findingsOf(decision, judging);
      const last = told.get(worker);
      if (found.length === 0) {
        if (last !== undefined && havePassed(last.checks, decision)) told.delete(worker);
        return false;
      }
      const difference = withoutTimes(JSON.stringify(found));
      if (last?.difference === difference) return key !== undefined && key === last.key;
      setNewest(told, worker, { difference, checks: found.map(({ check }) => check), key }, toldMax);
      return true;
    },
  };
}

/**
 * Returns what the checks that look at the work have found. An open plan, a rule that nobody reported and a hook that
 * waits for a promise are usual while an agent works, and the agent knows of them. An error is no finding.
 */
function findingsOf({ decision, cause, feedback, verdicts }: Judged, judging: () => Pick<Judging, 'inspecting'>) {
  if (decision !== 'block' || cause !== 'incomplete') return [];
  if (!verdicts.some(({ guard, verdict }) => guard === 'checks' && verdict === 'block')) return [];
  const { inspecting } = judging();
  return feedback.filter(({ check, outcome }) => outcome === 'fail' && inspecting.has(check));
}

/** Not if one of them was not run, or could not be judged. */
function havePassed(checks: readonly string[], decision: Judged): boolean {
  const verdict = decision.verdicts.find(({ guard }) => guard === 'checks')?.verdict;
  if (verdict === 'pass') return true;
  if (verdict !== 'block') return false;
  const open = new Set([...checksNotRun(decision), ...decision.feedback.map(({ check }) => check)]);
  return !checks.some((check) => open.has(check));
}

/** The output of the same failure names other durations and times in each run. */
const withoutTimes = (text: string): string =>
  text
    .replace(/\b\d+(?:[.,]\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|min|minutes?)\b/g, '<duration>')
    .replace(/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b/g, '<time>');
