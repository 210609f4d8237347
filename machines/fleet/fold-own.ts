/**
 * Folds own entries: answers of checks and hooks, takeovers, what operators decide, and the fleet's replicas, rules and
 * policies (protocol.md §3).
 */
import type { OwnFleetEntry, OwnTaskEntry, OwnWorkerEntry } from '../entries/index.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import type { TaskEvent } from '../task/context.ts';
import { nextDelivery } from '../values/escalation.ts';
import { refuseAnswer } from '../worker/changes.ts';
import type { WorkerEvent } from '../worker/events.ts';
import { closeSession, handOverAttempts } from './attempts.ts';
import { armStaleDeadlines, armStaleness } from './due-time.ts';
import { surroundingsOf } from './facts.ts';
import { actorKey, type Fleet, placeOf, setRules, type WorkerRecord } from './fleet.ts';
import { rearmForgetting } from './forgetting.ts';
import { staleFromMs } from './presence.ts';
import { absentWorkerOf, refreshPresence } from './presence-change.ts';
import { refuseTask, stepTask, taskSurroundings } from './tasks.ts';
import { grantBudget } from './usage.ts';
import { eventOf, refuseWorker, stepWorker } from './workers.ts';

/** Folds an own entry about a worker: the answer of a check, a takeover, or what an operator decided. */
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
      stepWorker(fleet, known, { ...eventOf(fleet, entry), facts } as WorkerEvent);
      return;
    }
    case 'attempt.accepted':
      if (known !== undefined) accept(fleet, known, entry);
      return;
    case 'worker.retired': {
      const record = absentWorkerOf(fleet, entry.id);
      const beforeMs = staleFromMs(record);
      closeSession(fleet, record, entry);
      // No tool of its own keeps it from being stale any more.
      refreshPresence(fleet, record);
      armStaleness(fleet, record, beforeMs);
      return;
    }
    case 'escalation.acknowledged':
    case 'escalation.resolved': {
      const record = absentWorkerOf(fleet, entry.id);
      if (record.snapshot.value.state !== 'escalated')
        refuseWorker(fleet, record, entry.type, `worker ${entry.id} is not escalated`);
      else {
        if (entry.type === 'escalation.resolved') grantBudget(fleet, record, entry);
        stepWorker(fleet, record, eventOf(fleet, entry));
      }
      return;
    }
    case 'input.answered':
      answer(fleet, absentWorkerOf(fleet, entry.id), entry);
      return;
    case 'escalation.notified': {
      // One that comes late is about what is over.
      const escalation = known?.snapshot.context.worker.escalation ?? null;
      if (known === undefined || escalation === null) return;
      if (entry.data.delivery === nextDelivery(fleet.name, 'worker', entry.id, escalation))
        stepWorker(fleet, known, eventOf(fleet, entry));
      return;
    }
  }
}

/** The first answer counts; later ones are refused. */
function answer(fleet: Fleet, record: WorkerRecord, entry: Extract<OwnWorkerEntry, { type: 'input.answered' }>): void {
  const refusal = refuseAnswer(record.snapshot.context.worker, entry.data.request);
  if (refusal !== null) refuseWorker(fleet, record, entry.type, refusal);
  else stepWorker(fleet, record, eventOf(fleet, entry));
}

/** The first replica that accepts an attempt of a silent owner gets it. */
function accept(
  fleet: Fleet,
  record: WorkerRecord,
  { id: worker, data }: Extract<OwnWorkerEntry, { type: 'attempt.accepted' }>,
): void {
  if (record.snapshot.context.worker.attempt?.attempt !== data.attempt) return;
  const stands = data.from === undefined ? record.accepted : record.accepted && record.owner !== data.from;
  if (stands) return;
  record.owner = data.replica;
  record.accepted = true;
  fleet.touched.add(actorKey('worker', worker));
}

/** Folds an own entry about a task: the answer of a remote hook, or what an operator decided. */
export function foldOwnTask(fleet: Fleet, entry: OwnTaskEntry): void {
  const { id, type, data } = entry;
  const record = fleet.tasks.get(id);
  // `timer.fired` only moves the clock.
  if (record === undefined || type === 'timer.fired') return;
  record.namedMs = fleet.nowMs;
  const event = { type, data, ...placeOf(fleet) } as TaskEvent;
  const { value, context } = record.snapshot;
  switch (type) {
    case 'check.finished':
      stepTask(fleet, id, { ...event, facts: taskSurroundings(fleet, id) } as TaskEvent);
      return;
    case 'escalation.notified': {
      // A late entry is about an escalation that is over.
      const { escalation } = context;
      if (escalation !== null && data.delivery === nextDelivery(fleet.name, 'task', id, escalation))
        stepTask(fleet, id, event);
      return;
    }
    case 'escalation.resolved':
    case 'escalation.acknowledged':
      if (value === 'escalated') stepTask(fleet, id, event);
      else refuseTask(fleet, id, type, `task ${id} is not escalated`);
      return;
  }
}

/** Folds an own entry about the fleet: a replica came or left, or its rules or policies were set. */
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

/** Goes over all actors only if one of their deadlines may have changed. */
function setPolicies(fleet: Fleet, policies: PolicySet, seq: number): void {
  const { forgetMs } = fleet.policies;
  fleet.policies = policies;
  fleet.policySeq = seq;
  if (policies.releaseAfterMs !== null || [...policies.policies.values()].some((it) => it.onStale === 'escalate'))
    for (const worker of fleet.workers.keys()) armStaleDeadlines(fleet, worker);
  if (policies.forgetMs !== forgetMs) rearmForgetting(fleet);
}
