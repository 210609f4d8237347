/** Folds own entries about workers: answers of checks, take-overs, and what operators decide (protocol.md §3). */

import type { OwnWorkerEntry } from '../entries/index.ts';
import { nextDelivery } from '../values/escalation.ts';
import { refuseAnswer } from '../worker/changes.ts';
import type { WorkerEvent } from '../worker/events.ts';
import { closeSession } from './attempts.ts';
import { surroundingsOf } from './facts.ts';
import { actorKey, type Fleet, type WorkerRecord } from './fleet.ts';
import { staleFromMs } from './presence.ts';
import { absentWorkerOf, refreshPresence } from './presence-change.ts';
import { armStaleness } from './stale-deadlines.ts';
import { grantBudget } from './usage.ts';
import { eventOf, refuseWorker, stepWorker } from './workers.ts';

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
