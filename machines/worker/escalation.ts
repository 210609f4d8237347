/** An escalation: what a person must look at, since when and why, and who has said that he does (protocol 4). */
import type { Decision } from '../guards/decision.ts';

export type Escalation = {
  /** The entry that it came from: the attempt's, or `task.failed`. */
  readonly seq: number;
  readonly since: string;
  readonly reason: string;
  /** The decision's cause; `failed`: the worker said so of its task. */
  readonly cause: Decision['cause'] | 'failed';
  readonly attempt: string | null;
  /** Whose decision or word it was. */
  readonly worker: string;
  readonly acknowledgedBy: string | null;
  readonly acknowledgedAt: string | null;
  /** How often people were told of it, and when last. */
  readonly notified: number;
  readonly notifiedAt: string | null;
};

/** `withWorker`: the decision escalated the worker too, so whoever is told of him is told of this. */
export type TaskEscalation = Escalation & { readonly withWorker: boolean };

/** What an operator last said of a worker that was escalated: an agent is to be told the prompt. */
export type Resolution = {
  readonly at: string;
  readonly by: string;
  readonly verdict: 'resume' | 'stop';
  readonly prompt: string | null;
};

type Origin = Pick<Escalation, 'seq' | 'since' | 'reason' | 'cause' | 'attempt' | 'worker'>;

const newFields = { acknowledgedBy: null, acknowledgedAt: null, notified: 0, notifiedAt: null } as const;

export const escalate = (origin: Origin): Escalation => ({ ...origin, ...newFields });

export function escalateBy({ seq, at, reason, cause, attempt, worker }: Decision): Escalation {
  return escalate({ seq: seq ?? 0, since: at, reason, cause, attempt, worker });
}

/** The newest word stands: a second person may take over. */
export const acknowledge = <It extends Escalation>(it: It | null, by: string, at: string): It | null =>
  it === null ? null : { ...it, acknowledgedBy: by, acknowledgedAt: at };

export const noteNotice = <It extends Escalation>(it: It | null, at: string): It | null =>
  it === null ? null : { ...it, notified: it.notified + 1, notifiedAt: at };

export type EscalatedEntity = 'worker' | 'task';

/** The name of the next notice: the same on every replica, at every try, and no other notice's. */
export const nextDelivery = (fleet: string, entity: EscalatedEntity, id: string, it: Escalation): string =>
  [fleet, entity, id, it.seq, it.since, it.notified + 1].join('/');
