/**
 * Matters that wait for a person: escalated workers and tasks, agents' requests, and unattended queues. Lists, the page
 * and notices show the same.
 */
import { nameTasks } from '../guards/task-names.ts';
import type { EscalatedEntity, Escalation, Unattended } from '../values/escalation.ts';
import type { InputRequest } from '../values/questions.ts';
import type { State, ViewedPresence } from '../values/states.ts';
import { isForPerson, kindOf, type PersonKind, requestText } from './standing.ts';
import type { QueueView, TaskView, WorkerView } from './views.ts';

/** `reason`: the reason or the request in one line. `note`: what happened since, or null. */
export type PersonWait = {
  readonly entity: EscalatedEntity | 'queue';
  readonly id: string;
  readonly kind: PersonKind;
  readonly since: string;
  readonly reason: string;
  /** The `sentence` of its view. */
  readonly sentence: string;
  readonly note: string | null;
  /** Null for a queue. */
  readonly state: State | null;
  /** Null for a task or a queue. */
  readonly presence: ViewedPresence | null;
  readonly agent: string | null;
  readonly queue: string | null;
} & (
  | ({ readonly kind: 'escalation' } & Omit<Escalation, 'since' | 'reason'>)
  | ({ readonly kind: RequestKind } & RequestDetails)
  | ({ readonly kind: 'unattended' } & UnattendedDetails)
);

type RequestKind = Exclude<PersonKind, 'escalation' | 'unattended'>;
/** `pending`: the number of ready tasks. */
type UnattendedDetails = Omit<Unattended, 'since'> & { readonly pending: number };
/** `isHeld`: operators can answer it (policy `ask`). Otherwise it is answered where the agent runs. */
type RequestDetails = Omit<InputRequest, 'kind' | 'since'> & { readonly isHeld: boolean };

export function personWaitsOfWorker(view: WorkerView): PersonWait[] {
  if (!view.standing.waits.some(isForPerson)) return [];
  const { worker, escalation, inputs, rules, state, presence, agent, queue, sentence } = view;
  const subject = { entity: 'worker', id: worker, sentence, note: null, state, presence, agent, queue } as const;
  return [
    ...(escalation === null ? [] : [{ ...escalation, ...subject, kind: 'escalation' } as const]),
    ...inputs.map((input) => ({
      ...input,
      ...subject,
      kind: kindOf(input),
      reason: requestText(input),
      isHeld: rules.askMs !== null && input.request !== null,
    })),
  ];
}

export function personWaitsOfTask({ task, state, queue, escalation, standing, sentence }: TaskView): PersonWait[] {
  if (escalation === null) return [];
  const subject = { entity: 'task', id: task, sentence, state, presence: null, agent: null, queue } as const;
  return [{ ...escalation, ...subject, kind: 'escalation', note: standing.note }];
}

export function personWaitsOfQueue({ queue, pending, reported, next, unattended }: QueueView): PersonWait[] {
  if (unattended === null) return [];
  const ready = pending - reported;
  const reason = describeUnattended(queue, ready, next);
  const subject = { entity: 'queue', id: queue, reason, note: null, state: null, presence: null, agent: null } as const;
  return [
    { ...unattended, ...subject, kind: 'unattended', sentence: `No worker: ${countOf(ready)}`, queue, pending: ready },
  ];
}

/** E.g. `2 tasks wait in queue build, and no worker is there to take them: T-1 Fix login, T-2 Write docs`. */
const describeUnattended = (queue: string, ready: number, next: QueueView['next']): string =>
  `${countOf(ready)} in queue ${queue}, and no worker is there to take ${ready === 1 ? 'it' : 'them'}: ${nameTasks(next, ready)}`;

const countOf = (ready: number): string => (ready === 1 ? '1 task waits' : `${ready} tasks wait`);
