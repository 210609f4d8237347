/** The possible outcomes of a stop, for people: one list for the page and the outline of the log. */
import type { Decision } from '../../machines/index.ts';

export const verdictKinds = ['complete', 'let-go', 'blocked', 'escalated', 'unjudged'] as const;
export type VerdictKind = (typeof verdictKinds)[number];

export function verdictKindOf({
  decision,
  action,
  cause,
}: Pick<Decision, 'decision' | 'action' | 'cause'>): VerdictKind {
  if (action === 'escalate') return 'escalated';
  if (cause === 'unjudged') return 'unjudged';
  if (decision === 'block') return 'blocked';
  return cause === 'complete' ? 'complete' : 'let-go';
}
