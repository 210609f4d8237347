/**
 * Checks that answer an agent although it did not ask to stop. A check is a probe and runs the policy's checks, so it
 * runs only where the policy wants it.
 */
import { type Decision, usedUp, type WorkerView } from '../../../machines/index.ts';

/**
 * - `complete`: after a batch of tools, tells the agent that it may stop, because every check passes
 *   (`stopWhenComplete`).
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
): boolean {
  if (isForComplete(check) && usedUp(budgets) !== null) return true;
  if (rules.checks === 0) return false;
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
