/** Recognises a worker whose user ended its turn, from its last decision (protocol.md §4). */
import type { Decision } from '../guards/decision.ts';
import type { Presence, State, ViewedPresence } from '../values/states.ts';

/** The stop reason with which adapters report an interrupt. */
const interruptReason = 'user_interrupt';

/** Tells whether this decision let a turn end that its user interrupted. */
export const isInterrupt = ({ cause, verdicts }: Pick<Decision, 'cause' | 'verdicts'>): boolean =>
  cause === 'bypassed' && verdicts.at(-1)?.input?.stopReason === interruptReason;

/** The presence to show. An interrupted worker waits for its user, so its silence says nothing. */
export function viewedPresence(
  presence: Presence,
  {
    state,
    ended,
    lastDecision,
  }: {
    readonly state: State;
    readonly ended: 'ended' | 'retired' | null;
    readonly lastDecision: Decision | null;
  },
): ViewedPresence {
  if (presence === 'limited' || state !== 'stopped' || ended !== null || lastDecision === null) return presence;
  return isInterrupt(lastDecision) ? 'interrupted' : presence;
}
