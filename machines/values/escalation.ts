/** An escalation: what needs a person, since when and why, and who has acknowledged it (protocol.md §4). */
import type { Cause } from './states.ts';

export type Escalation = {
  /** The entry that caused it: the attempt's, `task.failed`, or the last one before a worker became stale. */
  readonly seq: number;
  readonly since: string;
  readonly reason: string;
  /** The decision's cause; `failed`: the worker gave its task up; `stale`: nothing was heard of it. */
  readonly cause: Cause | 'failed' | 'stale';
  /** With cause `budget`: the budget that is used up, and that resuming grants once more. */
  readonly budget?: 'session' | 'prompt' | 'task' | 'day';
  readonly attempt: string | null;
  /** The worker whose attempt or task it was. */
  readonly worker: string;
  readonly acknowledgedBy: string | null;
  readonly acknowledgedAt: string | null;
  /** How often people were notified of it, and when they last were. */
  readonly notified: number;
  readonly notifiedAt: string | null;
};

/** `withWorker`: the worker was escalated too, so one notice serves both. */
export type TaskEscalation = Escalation & { readonly withWorker: boolean };

/** How an operator last resolved the worker's escalation; the agent is given the prompt. */
export type Resolution = {
  readonly at: string;
  readonly by: string;
  readonly verdict: 'resume' | 'stop';
  readonly prompt: string | null;
};

export type EscalatedEntity = 'worker' | 'task';

type Origin = Pick<Escalation, 'seq' | 'since' | 'reason' | 'cause' | 'attempt' | 'worker'>;

const newFields = { acknowledgedBy: null, acknowledgedAt: null, notified: 0, notifiedAt: null } as const;

export const escalate = (origin: Origin): Escalation => ({ ...origin, ...newFields });

/** The newest acknowledgement stands: a second person may take over. */
export const acknowledge = <It extends Escalation>(it: It | null, by: string, at: string): It | null =>
  it === null ? null : { ...it, acknowledgedBy: by, acknowledgedAt: at };

export const noteNotice = <It extends Escalation>(it: It | null, at: string): It | null =>
  it === null ? null : { ...it, notified: it.notified + 1, notifiedAt: at };

/** The name of the next notice: the same on every replica, at every try, and no other notice's. */
export const nextDelivery = (fleet: string, entity: EscalatedEntity, id: string, it: Escalation): string =>
  [fleet, entity, id, it.seq, it.since, it.notified + 1].join('/');
