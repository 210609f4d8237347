/** An escalation: what needs a person, since when and why, and who has acknowledged it (protocol.md §4). */
import type { Cause } from './states.ts';

/** Tells how often people were notified of something that needs one, and who has acknowledged it. */
export type Noticed = {
  readonly acknowledgedBy: string | null;
  readonly acknowledgedAt: string | null;
  /** The number of times that people were notified of it, and when they last were. */
  readonly notified: number;
  readonly notifiedAt: string | null;
};

export type Escalation = Noticed & {
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
};

/** `withWorker`: the worker was escalated too, so one notice serves both. */
export type TaskEscalation = Escalation & { readonly withWorker: boolean };

/** The way in which an operator last resolved the worker's escalation; the agent is given the prompt. */
export type Resolution = {
  readonly at: string;
  readonly by: string;
  readonly verdict: 'resume' | 'stop';
  readonly prompt: string | null;
};

export type EscalatedEntity = 'worker' | 'task';

/** A request waits for a person for longer than `escalation.waiting`; `since`: from when on that is so. */
export type Overdue = Noticed & { readonly since: string };

/**
 * Tasks of a queue are ready, and nobody alive could take them for longer than `escalation.unattended`. `since`: from
 * when on nobody could. `at`: from when on people are to be told, and `seq`: the last entry before that.
 */
export type Unattended = Noticed & { readonly seq: number; readonly since: string; readonly at: string };

type Origin = Pick<Escalation, 'seq' | 'since' | 'reason' | 'cause' | 'attempt' | 'worker'>;

/** Nobody has heard of it. */
export const unnoticed: Noticed = Object.freeze({
  acknowledgedBy: null,
  acknowledgedAt: null,
  notified: 0,
  notifiedAt: null,
});

export const escalate = (origin: Origin): Escalation => ({ ...origin, ...unnoticed });

/** The newest acknowledgement stands: a second person may take over. Null stays null. */
export const acknowledge = <It extends Noticed | null>(it: It, by: string, at: string): It =>
  it === null ? it : { ...it, acknowledgedBy: by, acknowledgedAt: at };

export const noteNotice = <It extends Noticed | null>(it: It, at: string): It =>
  it === null ? it : { ...it, notified: it.notified + 1, notifiedAt: at };

/** The name of the next notice: the same on every replica, at every try, and no other notice's. */
export const nextDelivery = (fleet: string, entity: EscalatedEntity | 'queue', id: string, it: Begun): string =>
  [fleet, entity, id, it.seq, it.since, it.notified + 1].join('/');

/** The name of the next notice of a request that is overdue. `seq` and `since` are the request's. */
export const nextWaitingDelivery = (fleet: string, worker: string, { seq, since, notified }: Begun): string =>
  [fleet, 'worker', worker, 'waiting', seq, since, notified + 1].join('/');

type Begun = { readonly seq: number; readonly since: string; readonly notified: number };
