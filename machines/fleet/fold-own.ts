/**
 * Folds the entries of replicas and operators: answers of checks and hooks, takeovers, operators' actions, and the
 * fleet's replicas, rules and policies (protocol.md §3).
 */
import type { OwnFleetEntry, OwnQueueEntry, OwnTaskEntry, OwnWorkerEntry } from '../entries/index.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import type { TaskEvent } from '../task/events.ts';
import { acknowledge, nextDelivery, nextWaitingDelivery, noteNotice } from '../values/escalation.ts';
import { formatIsoTime } from '../values/time.ts';
import { refuseAnswer } from '../worker/inputs.ts';
import { closeSession, handOverAttempts } from './attempts.ts';
import { surroundingsOf } from './facts.ts';
import { actorKey, type Fleet, positionOf, setRules, type WorkerRecord } from './fleet.ts';
import { policyInForce } from './policies.ts';
import { staleFromMs } from './presence.ts';
import { armUnattended, setUnattended, trackAllAttendance } from './queues/attendance.ts';
import { refuse } from './refusals.ts';
import { stepTask, taskSurroundings } from './tasks.ts';
import { armStaleDeadlines, armStaleness, armWaiting } from './time/due-time.ts';
import { rearmForgetting } from './time/forgetting.ts';
import { grantBudget, grantDay } from './usage.ts';
import { absentWorkerOf, eventOf, refreshPresence, stepWorker } from './workers.ts';

/** Folds an own entry about a worker: the answer of a check, a takeover, or an operator's action. */
export function foldOwnWorker(fleet: Fleet, entry: OwnWorkerEntry): void {
  const known = fleet.workers.get(entry.id);
  if (known !== undefined && entry.type !== 'timer.fired') known.namedMs = fleet.nowMs;
  switch (entry.type) {
    case 'timer.fired':
      return;
    case 'check.started':
    case 'check.finished': {
      const attempt = known?.snapshot.context.worker.attempt;
      if (known === undefined || attempt == null) return;
      const facts = surroundingsOf(fleet, known.snapshot.context.worker, attempt.inForce);
      stepWorker(fleet, known, eventOf(fleet, fleet.policyPinned ? withoutNumber(entry) : entry, facts));
      return;
    }
    case 'attempt.accepted':
      if (known !== undefined) accept(fleet, known, entry);
      return;
    case 'worker.retired': {
      const record = absentWorkerOf(fleet, entry.id);
      const beforeMs = staleFromMs(record);
      closeSession(fleet, record, entry);
      // Its running tools were ended, so they no longer keep it from being stale.
      refreshPresence(fleet, record);
      armStaleness(fleet, record, beforeMs);
      return;
    }
    case 'worker.paused': {
      const record = absentWorkerOf(fleet, entry.id);
      const inForce = policyInForce(fleet, record.snapshot.context.worker);
      if (inForce.policy.pause === 'deny') refuse(fleet, entry, `policy ${inForce.name} lets nobody pause its workers`);
      else stepWorker(fleet, record, eventOf(fleet, entry, { inForce }));
      return;
    }
    case 'worker.unpaused':
      stepWorker(fleet, absentWorkerOf(fleet, entry.id), eventOf(fleet, entry));
      return;
    case 'escalation.acknowledged':
    case 'escalation.resolved':
      respond(fleet, absentWorkerOf(fleet, entry.id), entry);
      return;
    case 'input.answered':
      answer(fleet, absentWorkerOf(fleet, entry.id), entry);
      return;
    case 'escalation.notified':
      if (known !== undefined) noteNoticeOfWorker(fleet, known, entry);
      return;
  }
}

/** Folds an operator's response to an escalated worker. An acknowledgement also covers its overdue requests. */
function respond(
  fleet: Fleet,
  record: WorkerRecord,
  entry: Extract<OwnWorkerEntry, { type: 'escalation.acknowledged' | 'escalation.resolved' }>,
): void {
  const isAcknowledgement = entry.type === 'escalation.acknowledged';
  const { escalation, inputs } = record.snapshot.context.worker;
  const matters = isAcknowledgement ? [escalation, ...inputs] : [escalation];
  const fault = outdatedFault(`worker ${entry.id}`, matters, entry.data.seq);
  if (fault !== null) {
    refuse(fleet, entry, fault);
    return;
  }
  const coversRequests = isAcknowledgement && fleet.neglected.has(actorKey('worker', entry.id));
  if (coversRequests) stepWorker(fleet, record, { type: 'input.acknowledged', data: entry.data, ...positionOf(fleet) });
  if (record.snapshot.value.state === 'escalated') {
    if (entry.type === 'escalation.resolved') grantBudget(fleet, record, entry);
    stepWorker(fleet, record, eventOf(fleet, entry));
  } else if (!coversRequests) refuse(fleet, entry, `worker ${entry.id} is not escalated`);
}

/** Under pinned policies other checks may be pending than when the entry was written, so numbers would not match. */
const withoutNumber = <CheckEntry extends Extract<OwnWorkerEntry, { type: 'check.started' | 'check.finished' }>>(
  entry: CheckEntry,
): CheckEntry => ({
  ...entry,
  data: { ...entry.data, number: undefined },
});

/**
 * Returns the reason for refusing an operator's entry whose `seq` names a request that is no longer open while another
 * one is, or null. The caller refuses an entry if nothing is open.
 */
function outdatedFault(
  actor: string,
  open: readonly ({ readonly seq: number } | null)[],
  seq: number | undefined,
): string | null {
  const isOpen =
    seq === undefined || open.every((matter) => matter === null) || open.some((matter) => matter?.seq === seq);
  return isOpen ? null : `${actor} no longer needs a person for entry ${seq}, but for something else; look again`;
}

/** People were notified of the worker's escalation or of an overdue request. Late entries match neither. */
function noteNoticeOfWorker(
  fleet: Fleet,
  record: WorkerRecord,
  entry: Extract<OwnWorkerEntry, { type: 'escalation.notified' }>,
): void {
  const { escalation, inputs } = record.snapshot.context.worker;
  const { delivery } = entry.data;
  if (escalation !== null && delivery === nextDelivery(fleet.name, 'worker', entry.id, escalation))
    stepWorker(fleet, record, eventOf(fleet, entry));
  const request = inputs.find(
    ({ overdue, seq, since }) =>
      overdue !== undefined && delivery === nextWaitingDelivery(fleet.name, entry.id, { ...overdue, seq, since }),
  );
  if (request !== undefined)
    stepWorker(fleet, record, { type: 'input.noticed', data: { request: request.seq }, ...positionOf(fleet) });
}

/** The first answer counts; later ones are refused. */
function answer(fleet: Fleet, record: WorkerRecord, entry: Extract<OwnWorkerEntry, { type: 'input.answered' }>): void {
  const refusal = refuseAnswer(record.snapshot.context.worker, entry.data.request);
  if (refusal !== null) refuse(fleet, entry, refusal);
  else stepWorker(fleet, record, eventOf(fleet, entry));
}

/** The first replica that accepts the attempt of an unresponsive owner gets it. */
function accept(
  fleet: Fleet,
  record: WorkerRecord,
  { id: worker, data }: Extract<OwnWorkerEntry, { type: 'attempt.accepted' }>,
): void {
  if (record.snapshot.context.worker.attempt?.attempt !== data.attempt) return;
  const isTaken = data.from === undefined ? record.accepted : record.accepted && record.owner !== data.from;
  if (isTaken) return;
  record.owner = data.replica;
  record.accepted = true;
  fleet.touched.add(actorKey('worker', worker));
}

/** Folds an own entry about a task: the answer of a remote hook, or an operator's action. */
export function foldOwnTask(fleet: Fleet, entry: OwnTaskEntry): void {
  const { id, type, data } = entry;
  const record = fleet.tasks.get(id);
  // `timer.fired` only moves the clock.
  if (record === undefined || type === 'timer.fired') return;
  record.namedMs = fleet.nowMs;
  const event = { type, data, ...positionOf(fleet) } as TaskEvent;
  const { value, context } = record.snapshot;
  switch (type) {
    case 'check.finished':
      stepTask(fleet, id, { ...event, facts: taskSurroundings(fleet, id) } as TaskEvent);
      return;
    case 'escalation.notified': {
      // A late entry belongs to an escalation that is over.
      const { escalation } = context;
      if (escalation !== null && data.delivery === nextDelivery(fleet.name, 'task', id, escalation))
        stepTask(fleet, id, event);
      return;
    }
    case 'escalation.resolved':
    case 'escalation.acknowledged': {
      const fault = outdatedFault(`task ${id}`, [context.escalation], data.seq);
      if (fault !== null) refuse(fleet, entry, fault);
      else if (value === 'escalated') {
        if (type === 'escalation.resolved') grantDay(fleet, context.escalation, data);
        stepTask(fleet, id, event);
      } else refuse(fleet, entry, `task ${id} is not escalated`);
      return;
    }
  }
}

/** Folds an own entry about an unattended queue: people were notified, or somebody acknowledged it. */
export function foldOwnQueue(fleet: Fleet, entry: OwnQueueEntry): void {
  const { id, type } = entry;
  const unattended = fleet.queues.read(id)?.unattended ?? null;
  const at = formatIsoTime(fleet.nowMs);
  switch (type) {
    case 'timer.fired':
      return;
    case 'escalation.acknowledged':
      if (unattended !== null && (entry.data.seq === undefined || entry.data.seq === unattended.seq))
        setUnattended(fleet, id, acknowledge(unattended, entry.data.by, at));
      else {
        const reason = outdatedFault(`queue ${id}`, [unattended], entry.data.seq) ?? `queue ${id} is not unattended`;
        refuse(fleet, entry, reason);
      }
      return;
    case 'escalation.notified':
      if (unattended !== null && entry.data.delivery === nextDelivery(fleet.name, 'queue', id, unattended))
        setUnattended(fleet, id, noteNotice(unattended, at));
      return;
  }
}

/** Folds an own entry about the fleet: a replica joined or left, or its rules or policies were set. */
export function foldOwnFleet(fleet: Fleet, entry: OwnFleetEntry, seq: number): void {
  switch (entry.type) {
    case 'replica.joined':
      fleet.replicas.set(entry.data.replica, fleet.nowMs);
      if (entry.data.rules !== undefined) fleet.rulesOfReplicas.set(entry.data.replica, entry.data.rules[1]);
      break;
    case 'replica.left':
      fleet.replicas.delete(entry.data.replica);
      fleet.rulesOfReplicas.delete(entry.data.replica);
      handOverAttempts(fleet, entry.data.replica);
      break;
    case 'rules.set':
      // A late entry for an older version changes nothing.
      if (entry.data.version > fleet.rules.version) setRules(fleet, entry.data.version);
      break;
    case 'policy.set':
      if (fleet.policyPinned) break;
      setPolicies(fleet, entry.data, seq);
      break;
  }
}

/** Puts policies in force. Visits all actors only if one of their deadlines may have changed. */
function setPolicies(fleet: Fleet, policies: PolicySet, seq: number): void {
  const before = fleet.policies;
  fleet.policies = policies;
  fleet.policySeq = seq;
  trackAllAttendance(fleet, before);
  if (
    policies.releaseAfterMs !== null ||
    [...policies.policies.values()].some((policy) => policy.onStale === 'escalate')
  )
    for (const worker of fleet.workers.keys()) armStaleDeadlines(fleet, worker);
  if (policies.forgetMs !== before.forgetMs) rearmForgetting(fleet);
  if (policies.waitingMs !== before.waitingMs)
    for (const [, { snapshot }] of fleet.workers) armWaiting(fleet, null, snapshot.context.worker);
  if (policies.unattendedMs !== before.unattendedMs)
    for (const queue of fleet.queues.keys()) armUnattended(fleet, queue);
  // The new policies may have turned notices off.
  for (const actor of fleet.neglected.keys()) fleet.touched.add(actor);
}
