/** The states that a stop leads to, and the decisions that lead there (protocol.md §4). */
import type { State } from '../values/states.ts';
import type { Ruling } from './guard.ts';

export const stopOutcomes = {
  stopped: { decision: 'allow', action: 'complete' },
  escalated: { decision: 'allow', action: 'escalate' },
  blocked: { decision: 'block', action: 'continue' },
  idle: { decision: 'allow', action: 'continue' },
} as const satisfies Partial<Record<State, Pick<Ruling, 'decision' | 'action'>>>;

export type StopOutcome = keyof typeof stopOutcomes;

/** The worker's state after a decision. */
export function stateAfter({ decision, action, cause }: Pick<Ruling, 'decision' | 'action' | 'cause'>): State {
  if (cause === 'superseded') return 'validating';
  if (decision === 'block') return 'blocked';
  return action === 'complete' ? 'stopped' : action === 'escalate' ? 'escalated' : 'idle';
}
