/** Ranks what a person looks at first: who waits for one, then what may come to that. Lists and the terminal use it. */
import { nameTasks } from '../guards/task-names.ts';
import type { EscalatedEntity, Escalation, Unattended } from '../values/escalation.ts';
import type { InputRequest } from '../values/questions.ts';
import type { Presence, State } from '../values/states.ts';
import { isForPerson, kindOf, type PersonKind, requestText } from './standing.ts';
import type { QueueView, TaskView, WorkerView } from './views.ts';

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

// What waits for a person: escalated workers and tasks, what agents ask, and queues that nobody attends. Lists, the page and notices show the same.

/** `reason`: why, or what is asked, in one line. `note`: what has come of it since; null: nothing. */
export type PersonWait = {
  readonly entity: EscalatedEntity | 'queue';
  readonly id: string;
  readonly kind: PersonKind;
  readonly since: string;
  readonly reason: string;
  /** The sentence of its view that says how it stands. */
  readonly sentence: string;
  readonly note: string | null;
  /** It is null for a queue. */
  readonly state: State | null;
  /** It is null for a task or a queue. */
  readonly presence: Presence | null;
  readonly agent: string | null;
  readonly queue: string | null;
} & (
  | ({ readonly kind: 'escalation' } & Omit<Escalation, 'since' | 'reason'>)
  | ({ readonly kind: AskedKind } & Asked)
  | ({ readonly kind: 'unattended' } & Neglect)
);

type AskedKind = Exclude<PersonKind, 'escalation' | 'unattended'>;
/** `pending`: the ready tasks. */
type Neglect = Omit<Unattended, 'since'> & { readonly pending: number };
/** `isHeld`: an operator can answer it here (policy `ask`); else it is answered where the agent runs. */
type Asked = Omit<InputRequest, 'kind' | 'since'> & { readonly isHeld: boolean };

export function personWaitsOfWorker(view: WorkerView): PersonWait[] {
  if (!view.standing.waits.some(isForPerson)) return [];
  const { worker, escalation, inputs, rules, state, presence, agent, queue, sentence } = view;
  const place = { entity: 'worker', id: worker, sentence, note: null, state, presence, agent, queue } as const;
  return [
    ...(escalation === null ? [] : [{ ...escalation, ...place, kind: 'escalation' } as const]),
    ...inputs.map((input) => ({
      ...input,
      ...place,
      kind: kindOf(input),
      reason: requestText(input),
      isHeld: rules.askMs !== null && input.request !== null,
    })),
  ];
}

export function personWaitsOfTask({ task, state, queue, escalation, standing, sentence }: TaskView): PersonWait[] {
  if (escalation === null) return [];
  const place = { entity: 'task', id: task, sentence, state, presence: null, agent: null, queue } as const;
  return [{ ...escalation, ...place, kind: 'escalation', note: standing.note }];
}

export function personWaitsOfQueue({ queue, pending, reported, next, unattended }: QueueView): PersonWait[] {
  if (unattended === null) return [];
  const ready = pending - reported;
  const reason = describeUnattended(queue, ready, next);
  const place = { entity: 'queue', id: queue, reason, note: null, state: null, presence: null, agent: null } as const;
  return [
    { ...unattended, ...place, kind: 'unattended', sentence: `No worker: ${countOf(ready)}`, queue, pending: ready },
  ];
}

/** `2 tasks wait in queue build, and no worker of it is there: T-1 Fix login, T-2 Write docs`. */
const describeUnattended = (queue: string, ready: number, next: QueueView['next']): string =>
  `${countOf(ready)} in queue ${queue}, and no worker of it is there: ${nameTasks(next, ready)}`;

const countOf = (ready: number): string => (ready === 1 ? '1 task waits' : `${ready} tasks wait`);
