/**
 * The entries of a fleet's log (protocol.md §3), one row each. Types, validation at every edge and the exported JSON
 * Schema all derive from these schemas. Unknown fields are ignored here but kept in the log.
 */
import type { z } from 'zod';
import {
  checkFinished,
  checkStarted,
  escalationAcknowledged,
  escalationNotified,
  escalationResolved,
  policySet,
  replicaJoined,
  replicaLeft,
  rulesSet,
  timerFired,
} from './own.ts';
import {
  checkpointSaved,
  depthReported,
  hookDisabled,
  hookEnabled,
  hookRegistered,
  hooksCleared,
  hookUnregistered,
  iterationAdvanced,
  iterationCompleted,
  iterationStarted,
  iterationValidated,
  taskCancelled,
  taskClaimed,
  taskCompleted,
  taskCreated,
  taskFailed,
  taskReleased,
} from './task.ts';
import {
  attemptAccepted,
  attemptSchema,
  backgroundFinished,
  backgroundStarted,
  budgetExhausted,
  heartbeatSent,
  inputAnswered,
  inputReceived,
  inputRequested,
  limitCleared,
  limitReached,
  planUpdated,
  promptSubmitted,
  sessionEnded,
  stepUpdated,
  toolStarted,
  toolUsed,
  usageReported,
  workerMoved,
  workerPaused,
  workerRegistered,
  workerRetired,
  workerUnpaused,
} from './worker.ts';

/**
 * The schemas by area. The area is the part of a subject that decides who may publish it: only replicas and operators
 * may publish to `own…` areas.
 */
export const entrySchemas = {
  worker: {
    'worker.registered': workerRegistered,
    'worker.moved': workerMoved,
    'heartbeat.sent': heartbeatSent,
    'prompt.submitted': promptSubmitted,
    'tool.started': toolStarted,
    'tool.used': toolUsed,
    'plan.updated': planUpdated,
    'step.updated': stepUpdated,
    'task.claimed': taskClaimed,
    'task.completed': taskCompleted,
    'task.failed': taskFailed,
    'task.released': taskReleased,
    'background.started': backgroundStarted,
    'background.finished': backgroundFinished,
    'input.requested': inputRequested,
    'input.received': inputReceived,
    'limit.reached': limitReached,
    'limit.cleared': limitCleared,
    'budget.exhausted': budgetExhausted,
    'usage.reported': usageReported,
    'stop.attempted': attemptSchema,
    'session.ended': sessionEnded,
  },
  task: {
    'task.created': taskCreated,
    'task.cancelled': taskCancelled,
    'hook.registered': hookRegistered,
    'hook.enabled': hookEnabled,
    'hook.disabled': hookDisabled,
    'hook.unregistered': hookUnregistered,
    'hooks.cleared': hooksCleared,
    'iteration.started': iterationStarted,
    'iteration.validated': iterationValidated,
    'iteration.advanced': iterationAdvanced,
    'iteration.completed': iterationCompleted,
    'checkpoint.saved': checkpointSaved,
  },
  queue: {
    'depth.reported': depthReported,
  },
  ownWorker: {
    'attempt.accepted': attemptAccepted,
    'check.started': checkStarted,
    'check.finished': checkFinished,
    'timer.fired': timerFired,
    'escalation.acknowledged': escalationAcknowledged,
    'escalation.resolved': escalationResolved,
    'escalation.notified': escalationNotified,
    'input.answered': inputAnswered,
    'worker.retired': workerRetired,
    'worker.paused': workerPaused,
    'worker.unpaused': workerUnpaused,
  },
  ownTask: {
    'check.finished': checkFinished,
    'timer.fired': timerFired,
    'escalation.acknowledged': escalationAcknowledged,
    'escalation.resolved': escalationResolved,
    'escalation.notified': escalationNotified,
  },
  ownQueue: {
    'timer.fired': timerFired,
    'escalation.acknowledged': escalationAcknowledged,
    'escalation.notified': escalationNotified,
  },
  ownFleet: {
    'replica.joined': replicaJoined,
    'replica.left': replicaLeft,
    'rules.set': rulesSet,
    'policy.set': policySet,
  },
} as const;

export type Area = keyof typeof entrySchemas;
type EntryOf<A extends Area> = {
  [T in keyof (typeof entrySchemas)[A]]: {
    readonly area: A;
    readonly fleet: string;
    readonly id: string;
    readonly type: T;
    readonly data: (typeof entrySchemas)[A][T] extends z.ZodType<infer Data> ? Data : never;
  };
}[keyof (typeof entrySchemas)[A]];

export type WorkerEntry = EntryOf<'worker'>;
export type TaskEntry = EntryOf<'task'>;
type QueueEntry = EntryOf<'queue'>;
export type OwnWorkerEntry = EntryOf<'ownWorker'>;
export type OwnTaskEntry = EntryOf<'ownTask'>;
export type OwnQueueEntry = EntryOf<'ownQueue'>;
export type OwnFleetEntry = EntryOf<'ownFleet'>;
export type Entry =
  | WorkerEntry
  | TaskEntry
  | QueueEntry
  | OwnWorkerEntry
  | OwnTaskEntry
  | OwnQueueEntry
  | OwnFleetEntry;

/** An entry as an event of a machine. `Extra` adds its position in the log and the facts that the fold supplies. */
export type EventOf<Entry, Extra> = Entry extends { type: infer T; data: infer D }
  ? { readonly type: T; readonly data: D } & Extra
  : never;

/** A validated entry with its position. `owner`: the replica that received the request for it, if any. */
export type StoredEntry = {
  readonly seq: number;
  readonly atMs: number;
  readonly entry: Entry;
  readonly owner?: string | null;
};
