/** Folds own entries about workers: answers of checks, take-overs, and what operators decide (protocol.md §3). */

import type { OwnWorkerEntry } from '../entries/index.ts';
import { isAnswerTo } from '../guards/attempt.ts';
import { nextDelivery } from '../values/escalation.ts';
import type { WorkerEvent } from '../worker/events.ts';
import { closeSession } from './attempts.ts';
import { factsFor } from './facts.ts';
import type { Fleet, WorkerRecord } from './fleet.ts';
import { refuseWorker, stepWorker, workerOf } from './workers.ts';

export function foldOwnWorker(fleet: Fleet, entry: OwnWorkerEntry): void {
  const known = fleet.workers.get(entry.id);
  switch (entry.type) {
    case 'timer.fired':
      return;
    case 'check.finished': {
      const attempt = known?.snapshot.context.worker.attempt;
      if (known === undefined || attempt == null || !isAnswerTo(attempt, entry.data)) return;
      stepWorker(fleet, known, {
        type: 'check.finished',
        result: entry.data,
        facts: factsFor(fleet, known.snapshot.context.worker, attempt.inForce),
        stopwatch: fleet.stopwatch,
      });
      return;
    }
    case 'attempt.accepted':
      if (known !== undefined) accept(fleet, known, entry);
      return;
    case 'worker.retired':
      closeSession(fleet, workerOf(fleet, entry.id), 'retired');
      return;
    case 'escalation.acknowledged':
    case 'escalation.resolved': {
      const record = workerOf(fleet, entry.id);
      if (record.snapshot.value.state !== 'escalated')
        refuseWorker(fleet, record, entry.type, `worker ${entry.id} is not escalated`);
      else stepWorker(fleet, record, operatorEvent(entry, fleet.nowMs));
      return;
    }
    case 'escalation.notified': {
      // One that comes late is about what is over.
      const escalation = known?.snapshot.context.worker.escalation ?? null;
      if (known === undefined || escalation === null) return;
      if (entry.data.delivery === nextDelivery(fleet.name, 'worker', entry.id, escalation))
        stepWorker(fleet, known, { type: entry.type, atMs: fleet.nowMs });
      return;
    }
  }
}

type OperatorEntry = Extract<OwnWorkerEntry, { type: 'escalation.acknowledged' | 'escalation.resolved' }>;

function operatorEvent({ type, data }: OperatorEntry, atMs: number): WorkerEvent {
  if (type === 'escalation.acknowledged') return { type, by: data.by, atMs };
  return { type, by: data.by, verdict: data.verdict, prompt: data.prompt ?? null, atMs };
}

/** The first that takes an attempt over from its silent owner has it. */
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
  fleet.outcomes.push({ kind: 'accepted', worker, attempt: data.attempt, replica: data.replica });
}
