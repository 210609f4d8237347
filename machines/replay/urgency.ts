/** Ranks what a person looks at first: who waits for one, then what may come to that. Lists and the terminal use it. */

import type { EscalatedEntity, Escalation } from '../values/escalation.ts';
import type { InputRequest } from '../values/questions.ts';
import type { Presence, State } from '../values/states.ts';
import { isForPerson, kindOf, type PersonKind, requestText } from './standing.ts';
import type { TaskView, WorkerView } from './views.ts';

/** First to last. */
export const urgencies = [
  'escalated',
  'asks',
  'acknowledged',
  'blocked',
  'stale',
  'unjudged',
  'validating',
  'working',
  'idle',
  'stopped',
] as const;
export type Urgency = (typeof urgencies)[number];

type Seen = {
  readonly state: State;
  readonly presence: Presence;
  readonly isAcknowledged: boolean;
  readonly asks: boolean;
  readonly holdsTask: boolean;
  /** The cause of the last decision. */
  readonly cause: string | null;
};

/** Idle after a stop that nothing judged: it may look done, and is not. */
export const isUnjudged = ({ state, cause }: Pick<Seen, 'state' | 'cause'>): boolean =>
  state === 'idle' && cause === 'unjudged';

export function urgencyOf(worker: Seen): Urgency {
  const { state, presence, isAcknowledged, asks, holdsTask } = worker;
  if (state === 'escalated') return isAcknowledged ? 'acknowledged' : 'escalated';
  if (state === 'stopped') return 'stopped';
  if (asks) return 'asks';
  if (state === 'blocked') return 'blocked';
  if (presence === 'stale' && holdsTask) return 'stale';
  return isUnjudged(worker) ? 'unjudged' : state;
}

/** It goes on only when a person does something. */
export const needsPerson = (urgency: Urgency): boolean =>
  urgencies.indexOf(urgency) <= urgencies.indexOf('acknowledged');

// What waits for a person: escalated workers and tasks, and what agents ask. Lists, the page and notices show the same.

/** `reason`: why, or what is asked, in one line. `note`: what has come of it since; null: nothing. */
export type PersonWait = {
  readonly entity: EscalatedEntity;
  readonly id: string;
  readonly kind: PersonKind;
  readonly since: string;
  readonly reason: string;
  /** How it stands, as its view says it. */
  readonly sentence: string;
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
  const { worker, escalation, inputs, rules, state, presence, agent, queue, sentence } = view;
  const place = { entity: 'worker', id: worker, sentence, note: null, state, presence, agent, queue } as const;
  return [
    ...(escalation === null ? [] : [{ ...escalation, ...place, kind: 'escalation' } as const]),
    ...inputs.map((input) => ({
      ...{ ...input, ...place, kind: kindOf(input), reason: requestText(input) },
      isHeld: rules.askMs !== null && input.request !== null,
    })),
  ];
}

export function personWaitsOfTask({ task, state, queue, escalation, standing, sentence }: TaskView): PersonWait[] {
  if (escalation === null) return [];
  const place = { entity: 'task', id: task, sentence, state, presence: null, agent: null, queue } as const;
  return [{ ...escalation, ...place, kind: 'escalation', note: standing.note }];
}
