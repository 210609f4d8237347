/** States, presences and decisions as marks: a colour, and always text with it. */
import type { Decision, State } from '../../../../machines/index.ts';
import { verdictOf } from './vocabulary.ts';

export const StateMark = ({ state, note }: { state: State; note?: string | null }) => (
  <span class="state" data-state={state}>
    <i class="dot" aria-hidden="true" />
    {state}
    {note != null && <span class="note"> · {note}</span>}
  </span>
);

/** One word for a person first; then the protocol's own, which logs and agents have. */
export const DecisionMark = ({ decision }: { decision: Pick<Decision, 'decision' | 'action' | 'cause'> }) => {
  const { kind, word } = verdictOf(decision);
  return (
    <span class="answer" data-verdict-kind={kind} data-answer={decision.decision} data-cause={decision.cause}>
      <b>{word}</b>{' '}
      <span class="muted">
        {decision.decision} · {decision.action} · {decision.cause}
      </span>
    </span>
  );
};
