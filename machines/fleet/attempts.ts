/** Opens, supersedes, resumes and closes attempts (protocol.md §4). */
import type { WorkerEntry } from '../entries/index.ts';
import { attemptMessageId } from '../entries/message-ids.ts';
import type { AttemptFields } from '../entries/worker.ts';
import type { WorkerEvent } from '../worker/events.ts';
import { surroundingsOf } from './facts.ts';
import { actorKey, type Fleet, positionOf, type WorkerRecord } from './fleet.ts';
import { addAttempt, isKnownAttempt } from './known-attempts.ts';
import { ownerFor } from './owner.ts';
import { policyInForce, queueOfWorker } from './policies.ts';
import { describeFull, exceedsState, growthOfWorker, knownAttemptSize } from './state-size.ts';
import { stepTask } from './tasks.ts';
import { growthOfHeldTasks, moveWorker, refuseWorker, stepWorker } from './workers.ts';

export function openAttempt(
  fleet: Fleet,
  record: WorkerRecord,
  { id: worker, data: fields }: Extract<WorkerEntry, { type: 'stop.attempted' }>,
  seq: number,
  owner: string | null,
): void {
  const id = fields.attempt ?? `seq-${seq}`;
  if (isKnownAttempt(record.known, id)) {
    fleet.outcomes.push({ kind: 'repeated', worker, attempt: id });
    return;
  }
  const before = record.snapshot;
  const superseded = supersededSnapshot(fleet, record);
  let next = openedSnapshot(fleet, superseded, fields, seq);
  let growth = growthOfStep(fleet, superseded, next);
  if (exceedsState(fleet, growth.worker + growth.tasks + growthOfSuperseding(fleet, before, superseded))) {
    refuseWorker(fleet, record, 'stop.attempted', describeFull(fleet.stateSizeMax));
    return;
  }
  if (superseded !== before) {
    moveWorker(fleet, record, superseded, 'attempt.superseded');
    // Ending the superseded attempt may have saved a checkpoint, which the new attempt sees.
    next = openedSnapshot(fleet, superseded, fields, seq);
    growth = growthOfStep(fleet, superseded, next);
  }
  const { worker: context } = superseded.context;
  const knownBefore = record.known?.length ?? 0;
  record.known = addAttempt(record.known, id);
  fleet.stateSize += ((record.known.length - knownBefore) / 2) * knownAttemptSize;
  record.owner = ownerFor(fleet, attemptMessageId(worker, id), owner);
  record.accepted = false;
  const task = context.tasks.at(-1);
  if (task !== undefined) stepTask(fleet, task, { type: 'stop.attempted', data: fields, ...positionOf(fleet) });
  moveWorker(fleet, record, next, 'stop.attempted', growth.worker);
}

type WorkerSnapshot = WorkerRecord['snapshot'];

function openedSnapshot(fleet: Fleet, from: WorkerSnapshot, fields: AttemptFields, seq: number): WorkerSnapshot {
  const { worker: context } = from.context;
  const facts = surroundingsOf(fleet, context, policyInForce(fleet, context));
  return fleet.workerStepper.next(from, {
    type: 'stop.attempted',
    data: fields,
    seq,
    atMs: fleet.nowMs,
    facts,
  });
}

/** Returns how much a step of a worker's machine adds to the size of the worker and of its tasks. */
function growthOfStep(fleet: Fleet, from: WorkerSnapshot, to: WorkerSnapshot) {
  const before = from.context.worker;
  const after = to.context.worker;
  return { worker: growthOfWorker(before, after), tasks: growthOfHeldTasks(fleet, before, after) };
}

function growthOfSuperseding(fleet: Fleet, before: WorkerSnapshot, superseded: WorkerSnapshot): number {
  if (superseded === before) return 0;
  const { worker, tasks } = growthOfStep(fleet, before, superseded);
  return worker + tasks;
}

/** Gives each open attempt of a replica that left to one of the remaining members. */
export function handOverAttempts(fleet: Fleet, left: string): void {
  for (const worker of fleet.open) {
    const record = fleet.workers.get(worker);
    const attempt = record?.snapshot.context.worker.attempt?.attempt;
    if (record === undefined || attempt === undefined || record.owner !== left) continue;
    record.owner = ownerFor(fleet, attemptMessageId(worker, attempt), null);
    record.accepted = record.owner !== null;
    fleet.touched.add(actorKey('worker', worker));
  }
}

export function supersedeAttempt(fleet: Fleet, record: WorkerRecord): void {
  if (record.snapshot.context.worker.attempt === null) return;
  moveWorker(fleet, record, supersededSnapshot(fleet, record), 'attempt.superseded');
}

/** Returns the worker after a new attempt or prompt superseded the open attempt; unchanged if none is open. */
function supersededSnapshot(fleet: Fleet, { snapshot }: WorkerRecord): WorkerSnapshot {
  const { worker: context } = snapshot.context;
  if (context.attempt === null) return snapshot;
  const facts = surroundingsOf(fleet, context, context.attempt.inForce);
  return fleet.workerStepper.next(snapshot, { type: 'attempt.superseded', ...positionOf(fleet), facts });
}

/** Evaluates the open attempt again. Call it when its deadline is due, or when a task has arrived. */
export function resumeAttempt(fleet: Fleet, record: WorkerRecord): void {
  const { worker: context } = record.snapshot.context;
  if (context.attempt === null) return;
  const facts = surroundingsOf(fleet, context, context.attempt.inForce);
  stepWorker(fleet, record, { type: 'timer.fired', data: { timer: 'attempt' }, ...positionOf(fleet), facts });
}

export function resumeHeldOn(fleet: Fleet, queue: string): void {
  for (const worker of [...fleet.held]) {
    const record = fleet.workers.get(worker);
    const attempt = record?.snapshot.context.worker.attempt;
    if (record === undefined || attempt == null) continue;
    if (queueOfWorker(record.snapshot.context.worker, attempt.inForce) === queue) resumeAttempt(fleet, record);
  }
}

type Closing = Pick<Extract<WorkerEvent, { type: 'session.ended' | 'worker.retired' }>, 'type' | 'data'>;

export function closeSession(fleet: Fleet, record: WorkerRecord, { type, data }: Closing): void {
  const { worker: context } = record.snapshot.context;
  const inForce = context.attempt?.inForce ?? policyInForce(fleet, context);
  const facts = surroundingsOf(fleet, context, inForce);
  stepWorker(fleet, record, { type, data, ...positionOf(fleet), facts } as WorkerEvent);
  for (const task of context.tasks)
    stepTask(fleet, task, { type: 'task.released', data: { task }, ...positionOf(fleet) });
}
