/** Escalations and other matters that need a person (protocol.md §4). */
import type { Cause } from './states.ts';
import type { GrantedAmounts } from './usage.ts';

/** The state of the notices about a matter that needs a person, and who acknowledged it. */
export type Noticed = {
  readonly acknowledgedBy: string | null;
  readonly acknowledgedAt: string | null;
  /** How often people were notified, and when they last were. */
  readonly notified: number;
  readonly notifiedAt: string | null;
};

export type Escalation = Noticed & {
  /**
   * Sequence number of the entry that caused it: the attempt, `task.failed`, or the last before a worker became stale.
   */
  readonly seq: number;
  readonly since: string;
  readonly reason: string;
  /** The cause of the decision; `failed` if the worker gave its task up; `stale` if the worker fell silent. */
  readonly cause: Cause | 'failed' | 'stale';
  /** With cause `budget`: the exhausted budget, which resuming grants again. */
  readonly budget?: 'session' | 'prompt' | 'task' | 'day';
  readonly attempt: string | null;
  /** The worker that made the attempt or held the task. */
  readonly worker: string;
};

/** `withWorker`: the worker was escalated too, so one notice serves both. */
export type TaskEscalation = Escalation & { readonly withWorker: boolean };

/** How an operator last resolved the worker's escalation. The agent receives the prompt. */
export type Resolution = {
  readonly at: string;
  readonly by: string;
  readonly verdict: 'resume' | 'stop';
  readonly prompt: string | null;
  /** The amounts of the used-up budget that the operator chose. */
  readonly granted?: GrantedAmounts;
};

export type EscalatedEntity = 'worker' | 'task';

/** Set on a request that has waited for a person longer than `escalation.waiting`. `since`: when it became overdue. */
export type Overdue = Noticed & { readonly since: string };

/**
 * Set on a queue with ready tasks that no active worker could take for longer than `escalation.unattended`. `since`:
 * when that began. `at`: when people are first notified. `seq`: the last entry before `at`.
 */
export type Unattended = Noticed & { readonly seq: number; readonly since: string; readonly at: string };

type Origin = Pick<Escalation, 'seq' | 'since' | 'reason' | 'cause' | 'attempt' | 'worker'>;

/** Nobody was notified yet. */
export const unnoticed: Noticed = Object.freeze({
  acknowledgedBy: null,
  acknowledgedAt: null,
  notified: 0,
  notifiedAt: null,
});

export const escalate = (origin: Origin): Escalation => ({ ...origin, ...unnoticed });

/** The latest acknowledgement counts, so a second person may take over. Null stays null. */
export const acknowledge = <Matter extends Noticed | null>(matter: Matter, by: string, at: string): Matter =>
  matter === null ? matter : { ...matter, acknowledgedBy: by, acknowledgedAt: at };

export const noteNotice = <Matter extends Noticed | null>(matter: Matter, at: string): Matter =>
  matter === null ? matter : { ...matter, notified: matter.notified + 1, notifiedAt: at };

/** Returns the name of the next notice. It is unique to the notice, and equal on every replica and at every retry. */
export const nextDelivery = (
  fleet: string,
  entity: EscalatedEntity | 'queue',
  id: string,
  { seq, since, notified }: NoticedMatter,
): string => [fleet, entity, id, seq, since, notified + 1].join('/');

/** Returns the name of the next notice of an overdue request. `seq` and `since` are those of the request. */
export const nextWaitingDelivery = (fleet: string, worker: string, { seq, since, notified }: NoticedMatter): string =>
  [fleet, 'worker', worker, 'waiting', seq, since, notified + 1].join('/');

type NoticedMatter = { readonly seq: number; readonly since: string; readonly notified: number };
