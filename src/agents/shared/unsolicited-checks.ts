/**
 * Checks that answer an agent although it did not ask to stop. A check is a probe and runs the policy's checks, so it
 * runs only where the policy wants it.
 */
import type { Decision, WorkerView } from '../../../machines/index.ts';

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

export function isWanted(check: UnsolicitedCheck, rules: WorkerView['rules']): boolean {
  if (rules.checks === 0) return false;
  return check === 'output' || (check === 'step' ? rules.steps === 'gate' : rules.stopWhenComplete);
}

/**
 * Is there something to tell? A cap or a resolution lets an agent stop, but does not mean that its work is complete. What
 * could not be judged is no pass either, so a step is refused then.
 */
export function isNews(check: UnsolicitedCheck, { decision, cause }: Pick<Decision, 'decision' | 'cause'>): boolean {
  if (isForComplete(check)) return decision === 'allow' && cause === 'complete';
  return cause === 'incomplete' || (check === 'step' && cause === 'unjudged');
}
