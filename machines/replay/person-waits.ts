/** What waits for a person: escalated workers and tasks, and what agents ask. Lists, the page and notices show the same. */
import type { EscalatedEntity, Escalation } from '../values/escalation.ts';
import type { InputRequest } from '../values/input.ts';
import type { Presence, State } from '../values/states.ts';
import { isForPerson, kindOf, type PersonKind, requestText } from './standing.ts';
import type { TaskView, WorkerView } from './views.ts';

/** `reason`: why, or what is asked, in one line. `note`: what has come of it since; null: nothing. */
export type PersonWait = {
  readonly entity: EscalatedEntity;
  readonly id: string;
  readonly kind: PersonKind;
  readonly since: string;
  readonly reason: string;
  readonly note: string | null;
  readonly state: State;
  /** Null: of a task. */
  readonly presence: Presence | null;
  readonly agent: string | null;
  readonly queue: string | null;
} & (({ readonly kind: 'escalation' } & Omit<Escalation, 'since' | 'reason'>) | ({ readonly kind: AskedKind } & Asked));

type AskedKind = Exclude<PersonKind, 'escalation'>;
/** `isHeld`: an operator can answer it here (policy `ask`); else it is answered where the agent runs. */
type Asked = Omit<InputRequest, 'kind' | 'since'> & { readonly isHeld: boolean };

export function personWaitsOfWorker(view: WorkerView): PersonWait[] {
  if (!view.standing.waits.some(isForPerson)) return [];
  const { worker, escalation, inputs, rules, state, presence, agent, queue } = view;
  const place = { entity: 'worker', id: worker, note: null, state, presence, agent, queue } as const;
  return [
    ...(escalation === null ? [] : [{ ...escalation, ...place, kind: 'escalation' } as const]),
    ...inputs.map((input) => ({
      ...{ ...input, ...place, kind: kindOf(input), reason: requestText(input) },
      isHeld: rules.askMs !== null && input.request !== null,
    })),
  ];
}

export function personWaitsOfTask({ task, state, queue, escalation, standing }: TaskView): PersonWait[] {
  if (escalation === null) return [];
  const place = { entity: 'task', id: task, state, presence: null, agent: null, queue } as const;
  return [{ ...escalation, ...place, kind: 'escalation', note: standing.note }];
}
