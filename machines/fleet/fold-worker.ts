/** Folds entries about workers: what makes no sense now is refused, all else goes to the worker's machine (protocol 3, 4). */

import type { WorkerEntry } from '../entries/index.ts';
import { checkpointOfHooks } from '../guards/task-hooks/checkpoint.ts';
import { planStepsMax } from '../policy/plan.ts';
import { escalate } from '../values/escalation.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import type { WorkerContext } from '../worker/context.ts';
import { escalationOf } from '../worker/decide.ts';
import type { WorkerEvent } from '../worker/events.ts';
import { factsFor, policyInForce, queueOfWorker, refreshPresence, staleAfterMs } from './facts.ts';
import { attemptsKnownMax, type Fleet, ownerFor, trackEscalation, type WorkerRecord } from './fleet.ts';
import { armHandBack } from './hand-back.ts';
import { createTask, moveTask, recordHookRuns } from './move-task.ts';

/** The worker's record; an entry about one that was never heard of registers it, at the entry's time. */
export function workerOf(fleet: Fleet, worker: string): WorkerRecord {
  const known = fleet.workers.get(worker);
  if (known !== undefined) return known;
  const snapshot = fleet.worker.start({ fleet: fleet.name, worker, atMs: fleet.nowMs });
  const seen = { lastSeenMs: fleet.nowMs, staleArmed: false, wakeMs: null };
  const record: WorkerRecord = { snapshot, ...seen, owner: null, accepted: false, known: null };
  fleet.workers.set(worker, record);
  fleet.watcher?.worker(worker, 'idle', 'idle', 'worker.registered');
  return record;
}

export function foldWorker(fleet: Fleet, entry: WorkerEntry, seq: number, owner: string | null): void {
  const record = workerOf(fleet, entry.id);
  record.lastSeenMs = fleet.nowMs;
  if (!record.staleArmed) {
    record.staleArmed = true;
    fleet.deadlines.push({ atMs: fleet.nowMs + staleAfterMs, kind: 'stale', id: entry.id, attempt: '' });
  }
  apply(fleet, record, entry, seq, owner);
  if (record.snapshot.value.presence !== 'active') refreshPresence(fleet, record);
}

function apply(fleet: Fleet, record: WorkerRecord, entry: WorkerEntry, seq: number, owner: string | null): void {
  const { worker: context } = record.snapshot.context;
  switch (entry.type) {
    case 'stop.attempted':
      attempt(fleet, record, entry, seq, owner);
      return;
    case 'task.claimed':
      claim(fleet, record, entry.data.task);
      return;
    case 'task.completed':
    case 'task.failed':
    case 'task.released':
      letGo(fleet, record, entry);
      return;
    case 'session.ended':
      closeSession(fleet, record, context.ended === 'retired' ? 'retired' : 'ended');
      return;
    case 'step.updated':
      if (context.plan.length >= planStepsMax && !context.plan.some((step) => step.step === entry.data.step)) {
        refuseWorker(fleet, record, entry.type, `the plan has ${planStepsMax} steps, the most there may be`);
        return;
      }
      break;
    case 'prompt.submitted':
      if (context.ended !== 'retired') supersede(fleet, record);
      break;
    case 'limit.reached':
    case 'limit.cleared':
      send(fleet, record, { type: entry.type, data: entry.data, atMs: fleet.nowMs } as WorkerEvent);
      moveLimit(fleet, record, entry);
      return;
    case 'worker.registered':
      if (entry.data.queue !== undefined) fleet.arrivals.add(entry.data.queue);
      break;
  }
  send(fleet, record, { type: entry.type, data: entry.data, atMs: fleet.nowMs } as WorkerEvent);
  if (workTypes.has(entry.type)) resumeTasks(fleet, record);
}

const workTypes: ReadonlySet<string> = new Set(['prompt.submitted', 'tool.used', 'plan.updated', 'step.updated']);

/** A blocked task is worked on again at its worker's next work entry. */
function resumeTasks(fleet: Fleet, { snapshot }: WorkerRecord): void {
  if (snapshot.value.state !== 'working') return;
  for (const task of snapshot.context.worker.tasks) {
    if (fleet.tasks.get(task)?.snapshot.value === 'blocked') moveTask(fleet, task, { type: 'work.resumed' });
  }
}

function attempt(
  fleet: Fleet,
  record: WorkerRecord,
  { id: worker, data: fields }: Extract<WorkerEntry, { type: 'stop.attempted' }>,
  seq: number,
  owner: string | null,
): void {
  const id = fields.attempt ?? `seq-${seq}`;
  record.known ??= new Map();
  const before = record.known.get(id);
  if (before !== undefined) {
    fleet.outcomes.push({ kind: 'repeated', worker, attempt: id });
    return;
  }
  record.known.set(id, { seq, atMs: fleet.nowMs, decidedSeq: null });
  if (record.known.size > attemptsKnownMax) record.known.delete(record.known.keys().next().value as string);
  supersede(fleet, record);
  record.owner = ownerFor(fleet, `${worker}:${id}`, owner);
  record.accepted = false;
  const { worker: context } = record.snapshot.context;
  const inForce = policyInForce(fleet, context);
  send(fleet, record, {
    type: 'stop.attempted',
    attempt: id,
    seq,
    fields,
    inForce,
    facts: factsFor(fleet, context, inForce),
    stopwatch: fleet.stopwatch,
  });
}

function claim(fleet: Fleet, record: WorkerRecord, task: string): void {
  const { worker: context } = record.snapshot.context;
  const found = fleet.tasks.get(task)?.snapshot;
  const reason =
    context.ended !== null
      ? `worker ${context.worker} is ${context.ended}`
      : found === undefined
        ? null
        : found.value === 'stopped'
          ? `task ${task} is ${found.context.outcome ?? 'stopped'}`
          : found.context.worker !== null && found.context.worker !== context.worker
            ? `task ${task} is held by ${found.context.worker}`
            : waitsFor(fleet, found.context.after);
  if (reason !== null) {
    refuseWorker(fleet, record, 'task.claimed', reason);
    return;
  }
  if (found === undefined) createTask(fleet, task, queueOfWorker(context, policyInForce(fleet, context)));
  moveTask(fleet, task, { type: 'task.claimed', worker: context.worker });
  if (context.attempt !== null) moveTask(fleet, task, { type: 'attempt.opened' });
  const plan = fleet.tasks.get(task)?.snapshot.context.plan ?? null;
  send(fleet, record, { type: 'task.taken', task, plan, atMs: fleet.nowMs });
  resumeTasks(fleet, record);
}

function waitsFor(fleet: Fleet, after: readonly string[]): string | null {
  const open = after.filter((task) => fleet.tasks.get(task)?.snapshot.context.outcome !== 'completed');
  return open.length === 0 ? null : `it waits for ${open.slice(0, 3).join(', ')}`;
}

function letGo(
  fleet: Fleet,
  record: WorkerRecord,
  entry: Extract<WorkerEntry, { type: 'task.completed' | 'task.failed' | 'task.released' }>,
): void {
  const { worker: context } = record.snapshot.context;
  const { type } = entry;
  const { task } = entry.data;
  if (!context.tasks.includes(task)) {
    const reason = fleet.tasks.has(task)
      ? `worker ${context.worker} does not hold task ${task}`
      : `task ${task} is unknown`;
    refuseWorker(fleet, record, type, reason);
    return;
  }
  if (entry.type !== 'task.failed') moveTask(fleet, task, { type: entry.type });
  else {
    const { worker } = context;
    const reason = entry.data.reason ?? `Worker ${worker} gave it up as failed`;
    const since = formatIsoTime(fleet.nowMs);
    const escalation = escalate({ seq: fleet.seq, since, reason, cause: 'failed', attempt: null, worker });
    moveTask(fleet, task, { type: entry.type, escalation: { ...escalation, withWorker: false } });
  }
  send(fleet, record, { type: 'task.lost', task, atMs: fleet.nowMs });
}

/** The task was taken from its worker by somebody else's word. */
export function loseTask(fleet: Fleet, worker: string, task: string): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) send(fleet, record, { type: 'task.lost', task, atMs: fleet.nowMs });
}

export function clearFilesOf(fleet: Fleet, worker: string): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) send(fleet, record, { type: 'files.cleared' });
}

function moveLimit(
  fleet: Fleet,
  record: WorkerRecord,
  entry: Extract<WorkerEntry, { type: 'limit.reached' | 'limit.cleared' }>,
): void {
  const limit = entry.type === 'limit.reached' ? { untilMs: entry.data.until ?? null } : null;
  const { scope } = entry.data;
  if (scope !== undefined) {
    const known = fleet.scopes.get(scope) ?? { limit: null, workers: new Set<string>() };
    fleet.scopes.set(scope, known);
    if (limit !== null) known.workers.add(entry.id);
    known.limit = limit;
  }
  if (limit?.untilMs != null && limit.untilMs > fleet.nowMs) {
    fleet.deadlines.push({ atMs: limit.untilMs, kind: 'limit', id: entry.id, attempt: scope ?? '' });
  }
  refreshPresence(fleet, record);
  for (const worker of scope === undefined ? [] : (fleet.scopes.get(scope)?.workers ?? [])) {
    const other = fleet.workers.get(worker);
    if (other === undefined) continue;
    refreshPresence(fleet, other);
    armHandBack(fleet, worker);
  }
}

export function closeSession(fleet: Fleet, record: WorkerRecord, as: 'ended' | 'retired'): void {
  const { worker: context } = record.snapshot.context;
  const inForce = context.attempt?.inForce ?? policyInForce(fleet, context);
  send(fleet, record, { type: 'session.closed', as, facts: factsFor(fleet, context, inForce), atMs: fleet.nowMs });
  for (const task of context.tasks) moveTask(fleet, task, { type: 'task.released' });
}

function supersede(fleet: Fleet, record: WorkerRecord): void {
  const { worker: context } = record.snapshot.context;
  if (context.attempt === null) return;
  send(fleet, record, { type: 'attempt.superseded', facts: factsFor(fleet, context, context.attempt.inForce) });
}

export function resumeAttempt(fleet: Fleet, record: WorkerRecord): void {
  const { worker: context } = record.snapshot.context;
  if (context.attempt === null) return;
  const facts = factsFor(fleet, context, context.attempt.inForce);
  send(fleet, record, { type: 'attempt.resumed', facts, stopwatch: fleet.stopwatch });
}

export function resumeHeldOn(fleet: Fleet, queue: string): void {
  for (const worker of [...fleet.held]) {
    const record = fleet.workers.get(worker);
    const attempt = record?.snapshot.context.worker.attempt;
    if (record === undefined || attempt == null) continue;
    if (queueOfWorker(record.snapshot.context.worker, attempt.inForce) === queue) resumeAttempt(fleet, record);
  }
}

export function refuseWorker(fleet: Fleet, record: WorkerRecord, type: string, reason: string): void {
  const refused = { at: formatIsoTime(fleet.nowMs), type, reason };
  send(fleet, record, { type: 'entry.refused', refused });
  fleet.outcomes.push({ kind: 'refused', entity: 'worker', id: record.snapshot.context.worker.worker, type, reason });
}

/** Steps the machine, then carries what it decided or asked to the tasks, the clock and the outcomes. */
export function send(fleet: Fleet, record: WorkerRecord, event: WorkerEvent): void {
  const { value, context } = record.snapshot;
  const before = context.worker;
  record.snapshot = fleet.worker.next(record.snapshot, event);
  const after = record.snapshot.context.worker;
  fleet.watcher?.worker(after.worker, value.state, record.snapshot.value.state, event.type);
  if (after.lastDecision !== before.lastDecision) decided(fleet, before, after);
  if (after.escalation !== before.escalation)
    trackEscalation(fleet, 'worker', after.worker, after.escalation !== null, record.owner);
  if (after.attempt !== null || before.attempt !== null) trackAttempt(fleet, record, before, after);
}

function decided(fleet: Fleet, before: WorkerContext, after: WorkerContext): void {
  const decision = after.lastDecision as NonNullable<WorkerContext['lastDecision']>;
  fleet.outcomes.push({ kind: 'decided', decision });
  if (decision.task !== null) recordHookRuns(fleet, decision.task, decision.attempt, after.lastHookRuns);
  if (after.lastCheckpoint !== null && decision.task !== null) {
    const data = checkpointOfHooks(decision.attempt ?? '', after.lastCheckpoint.data);
    moveTask(fleet, decision.task, { type: 'checkpoint.saved', data, at: decision.at });
  }
  const escalation =
    after.lastDisposition === 'escalated'
      ? { ...escalationOf(decision), withWorker: decision.action === 'escalate' }
      : null;
  for (const task of before.tasks) {
    // An attempt that was decided at once never opened for its task.
    if (before.attempt === null) moveTask(fleet, task, { type: 'attempt.opened' });
    moveTask(fleet, task, { type: 'attempt.closed', disposition: after.lastDisposition, escalation });
  }
}

/** Keeps the sets of open and held attempts and the moment at which this one is looked at again. */
function trackAttempt(fleet: Fleet, record: WorkerRecord, before: WorkerContext, after: WorkerContext): void {
  const { attempt, worker } = after;
  if (attempt === null) {
    record.wakeMs = null;
    fleet.open.delete(worker);
    fleet.held.delete(worker);
    armHandBack(fleet, worker);
    return;
  }
  if (before.attempt === null) for (const task of after.tasks) moveTask(fleet, task, { type: 'attempt.opened' });
  fleet.open.add(worker);
  if (attempt.isHeld) fleet.held.add(worker);
  else fleet.held.delete(worker);
  const wakeMs = attempt.pending?.deadlineMs ?? holdEndMs(after);
  if (wakeMs !== record.wakeMs || before.attempt?.attempt !== attempt.attempt) {
    record.wakeMs = wakeMs;
    fleet.deadlines.push({ atMs: wakeMs, kind: 'attempt', id: worker, attempt: attempt.attempt });
  }
  const { pending } = attempt;
  if (pending !== null && pending !== before.attempt?.pending) {
    fleet.outcomes.push({ kind: 'checkPending', worker, attempt: attempt.attempt, check: pending });
  }
}

/** A hold ends with the idle timeout, or when its own time is up. */
function holdEndMs({ attempt, tasks, activeMs }: WorkerContext): number {
  if (attempt === null) return 0;
  const { holdUntilMs, idleLimitMs } = attempt;
  return tasks.length > 0 || idleLimitMs === null ? holdUntilMs : Math.min(holdUntilMs, activeMs + idleLimitMs);
}
