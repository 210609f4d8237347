/** The answer of a decision in one line. */
import type { Decision } from '../../machines/index.ts';
import type { Colors } from './colors.ts';

/** `block · continue · incomplete` */
export const describeAnswer = ({ decision, action, cause }: Decision): string => `${decision} · ${action} · ${cause}`;

/**
 * Paints an answer. Only complete is green: capped, bypassed and the like are not a success. Blue: nothing was judged.
 * Magenta: escalated, as the state.
 */
export function paintAnswer({ decision, action, cause }: Decision, colors: Colors): (text: string) => string {
  if (action === 'escalate') return colors.magenta;
  if (decision === 'block') return colors.red;
  if (cause === 'unjudged') return colors.blue;
  return cause === 'complete' || cause === 'no-policy' ? colors.green : colors.yellow;
}
