/** A notice of an escalation, as it goes to people, and how it follows from the fold. */
import {
  type Decision,
  type EscalatedEntity,
  type Escalation,
  type Fleet,
  nextDelivery,
  viewTask,
  viewWorker,
} from '../../machines/index.ts';

/** The body of a webhook. `reminder`: 0 when the escalation is new. */
export type Notice = {
  readonly v: 1;
  readonly kind: 'escalation' | 'reminder';
  readonly fleet: string;
  readonly entity: EscalatedEntity;
  readonly id: string;
  readonly since: string;
  readonly reason: string;
  readonly cause: Escalation['cause'];
  readonly attempt: string | null;
  /** What would let the worker or task go, a line each, as its view says it (`standing.missing`). */
  readonly missing: readonly string[];
  /** Present while it is the worker's last. */
  readonly decision?: Decision;
  readonly reminder: number;
  /** The same at every try and on every replica, and no other notice's. */
  readonly delivery: string;
};
/** Resolves when the receiver has taken it; rejects with the reason, after a bounded time, and when `signal` fires. */
export type Notify = (notice: Notice, signal: AbortSignal) => Promise<void>;

/** `remindMs` null: no reminders. `notify` null: notices go into the service's own log only. */
export type EscalationRules = { readonly remindMs: number | null; readonly notify: Notify | null };

/** `<entity>/<id>`, as in `Fleet.escalated`. */
export const escalationKey = (entity: EscalatedEntity, id: string): string => `${entity}/${id}`;

export const escalatedAt = (fleet: Fleet, key: string) =>
  fleet.escalated.get(key) as { entity: EscalatedEntity; id: string; owner: string | null };

/** The escalation that needs a notice. Null: none, it is acknowledged, or the notice of its worker covers it. */
export function openEscalation(fleet: Fleet, key: string): Escalation | null {
  const escalated = fleet.escalated.get(key);
  if (escalated === undefined) return null;
  const { entity, id } = escalated;
  const task = entity === 'task' ? (fleet.tasks.get(id)?.snapshot.context.escalation ?? null) : null;
  const found = entity === 'task' ? task : (fleet.workers.get(id)?.snapshot.context.worker.escalation ?? null);
  return found === null || found.acknowledgedBy !== null || task?.withWorker === true ? null : found;
}

/** The id of the next notice; null: no escalation needs one. */
export function openDelivery(fleet: Fleet, key: string): string | null {
  const escalation = openEscalation(fleet, key);
  if (escalation === null) return null;
  const { entity, id } = escalatedAt(fleet, key);
  return nextDelivery(fleet.name, entity, id, escalation);
}

export function createNotice(fleet: Fleet, key: string, escalation: Escalation): Notice {
  const { entity, id } = escalatedAt(fleet, key);
  const { since, reason, cause, attempt, notified, seq, worker } = escalation;
  const view = entity === 'worker' ? viewWorker(fleet, id, fleet.nowMs) : viewTask(fleet, id);
  const last = fleet.workers.get(worker)?.snapshot.context.worker.lastDecision ?? null;
  return {
    ...{ v: 1, kind: notified === 0 ? 'escalation' : 'reminder', fleet: fleet.name, entity, id },
    ...{ since, reason, cause, attempt, missing: view?.standing.missing ?? [] },
    ...(last !== null && last.seq === seq && attempt !== null ? { decision: last } : {}),
    ...{ reminder: notified, delivery: nextDelivery(fleet.name, entity, id, escalation) },
  };
}
