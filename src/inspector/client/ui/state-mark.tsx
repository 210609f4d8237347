/** States, presences and decisions as marks: a colour, and always text with it. */
import type { Decision, State } from '../../../../machines/index.ts';
import { presences, workerStates } from '../../../../machines/values/states.ts';

export const StateMark = ({ state, note }: { state: State; note?: string | null }) => (
  <span class="state" data-state={state}>
    <i class="dot" aria-hidden="true" />
    {state}
    {note != null && <span class="note"> · {note}</span>}
  </span>
);

export const stateOf = (index: number): State => workerStates[index] ?? 'idle';
export const presenceOf = (index: number) => presences[index] ?? 'active';

export const DecisionMark = ({ decision }: { decision: Pick<Decision, 'decision' | 'action' | 'cause'> }) => (
  <span class="answer" data-answer={decision.decision} data-cause={decision.cause}>
    <b>{decision.decision}</b> · {decision.action} · {decision.cause}
  </span>
);
