/**
 * What an agent is told without asking to stop, where its worker's policy wants that. The edge finds it out by a probe,
 * which runs checks: it must not where the policy does not ask for it.
 */
import type { Decision, WorkerView } from '../../../machines/index.ts';

/**
 * `complete`: that it may stop now, as every check holds (`stopWhenComplete`), after a batch of tools.
 * `complete-seldom`: the same after any tool, of an agent that does not tell where a batch ends: for that the edge asks
 * at most every 2 s. `step`: that a step may not be marked as done (`steps: gate`). `output`: what its structured output
 * still lacks.
 */
export type Look = 'complete' | 'complete-seldom' | 'step' | 'output';

export const isForComplete = (look: Look): boolean => look === 'complete' || look === 'complete-seldom';

export function isWanted(look: Look, { stopWhenComplete, steps, checks }: WorkerView['rules']): boolean {
  if (checks === 0) return false;
  return look === 'output' || (look === 'step' ? steps === 'gate' : stopWhenComplete);
}

/** Is there something to tell? A cap or a person's word lets an agent stop, and does not say that its work is done. */
export function isNews(look: Look, { decision, cause }: Pick<Decision, 'decision' | 'cause'>): boolean {
  return isForComplete(look) ? decision === 'allow' && cause === 'complete' : cause === 'incomplete';
}
