/** The fleet as rows: what the page needs of every actor, as compact as possible, since it gets thousands at once. */
import {
  type Fleet,
  idleLimitOf,
  isDone,
  parseIsoTime,
  pendingIn,
  policyInForce,
  presences,
  queueOfWorker,
  type State,
  type WorkerContext,
  type WorkerRecord,
  workerStates,
} from '../../machines/index.ts';
import { isUnjudged } from '../../machines/replay/urgency.ts';
import { describeRequest } from '../../machines/values/questions.ts';
import type { LastMoves, QueueRow, Rows, TaskRow, Transition, WorkerRow } from './messages.ts';

const stateIndex = new Map(workerStates.map((state, index) => [state, index]));
const presenceIndex = new Map(presences.map((presence, index) => [presence, index]));
const titleLengthMax = 80;
const nameLengthMax = 128;
const reasonLengthMax = 160;

/** Rows of the named actors, or of all. Unknown names are left out. */
export function rowsOf(
  fleet: Fleet,
  names?: { readonly workers: Iterable<string>; readonly tasks: Iterable<string>; readonly queues: Iterable<string> },
): Rows {
  const { workers, tasks, queues } = names ?? {
    workers: fleet.workers.keys(),
    tasks: fleet.tasks.keys(),
    queues: new Set(['main', ...fleet.queues.keys()]),
  };
  const isKnown = <Row>(row: Row | null): row is Row => row !== null;
  return {
    workers: [...workers].map((worker) => workerRow(fleet, worker)).filter(isKnown),
    tasks: [...tasks].map((task) => taskRow(fleet, task)).filter(isKnown),
    queues: [...queues].map((queue) => queueRow(fleet, queue)),
  };
}

/** Rows of all actors, and what moved last, among the workers and among the tasks. */
export function wholeOf(fleet: Fleet): Rows & { readonly last: LastMoves } {
  const rows = rowsOf(fleet);
  // The rows tell which: to look at all workers once more would take as long as the rows.
  const worker = lastMoved(rows.workers, ({ 24: stateSinceMs }) => stateSinceMs);
  const task = lastMoved(rows.tasks, ({ 10: stateSinceMs }) => stateSinceMs);
  const last = {
    w: transitionOf('w', worker === null ? undefined : fleet.workers.read(worker)),
    t: transitionOf('t', task === null ? undefined : fleet.tasks.read(task)),
  };
  return { ...rows, last };
}

function lastMoved<Row extends WorkerRow | TaskRow>(rows: readonly Row[], movedAt: (row: Row) => number | null) {
  let [last, atMs]: [string | null, number] = [null, 0];
  for (const row of rows) {
    const movedMs = movedAt(row) ?? -1;
    if (movedMs >= atMs) [last, atMs] = [row[0], movedMs];
  }
  return last;
}

function transitionOf(machine: 'w' | 't', record: Pick<WorkerRecord, 'lastMove'> | undefined): Transition | null {
  const move = record?.lastMove ?? null;
  if (move === null) return null;
  return [machine, stateIndex.get(move.from) ?? 0, stateIndex.get(move.to) ?? 0, move.event, 1];
}

function workerRow(fleet: Fleet, worker: string): WorkerRow | null {
  const record = fleet.workers.read(worker);
  if (record === undefined) return null;
  const { value } = record.snapshot;
  const it = record.snapshot.context.worker;
  const inForce = it.attempt?.inForce ?? policyInForce(fleet, it);
  const last = it.lastDecision;
  return [
    worker,
    stateIndex.get(value.state) ?? 0,
    presenceIndex.get(value.presence) ?? 0,
    it.retryCount,
    inForce.policy.retries,
    it.keepAlives,
    it.tasks.length > 0 ? null : it.activeMs,
    it.attempt?.idleLimitMs ?? idleLimitOf(inForce.policy, it.profile),
    it.tasks.at(-1) ?? null,
    it.tasks.length,
    it.agent?.slice(0, nameLengthMax) ?? null,
    last?.decision ?? null,
    last?.cause ?? null,
    last === null ? null : parseIsoTime(last.at),
    record.lastSeenMs,
    it.parent,
    waitsFor(record),
    record.wakeMs,
    it.escalation?.acknowledgedBy == null ? 0 : 1,
    it.plan.filter(isDone).length,
    it.plan.length,
    inForce.name,
    queueOfWorker(it, inForce),
    reasonOf(value.state, it)?.slice(0, reasonLengthMax) ?? null,
    record.lastMove?.atMs ?? null,
    it.awaitsInput ? 1 : 0,
  ];
}

/** Only where somebody may have to do something: a row is sent with each change. */
function reasonOf(state: State, { escalation, lastDecision, inputs: [asked] }: WorkerContext): string | null {
  if (state === 'escalated') return escalation?.reason ?? null;
  if (asked !== undefined && state !== 'stopped') return describeRequest(asked);
  if (lastDecision === null) return null;
  const { cause, reason } = lastDecision;
  const isOpen = state === 'blocked' || isUnjudged({ state, cause }) || (state === 'stopped' && cause === 'capped');
  return isOpen ? reason : null;
}

function waitsFor({ snapshot }: WorkerRecord): string | null {
  const { attempt } = snapshot.context.worker;
  if (attempt === null) return null;
  return attempt.pending === null ? 'hold' : attempt.pending.name;
}

function taskRow(fleet: Fleet, task: string): TaskRow | null {
  const record = fleet.tasks.get(task);
  if (record === undefined) return null;
  const { context, value } = record.snapshot;
  const { escalation } = context;
  return [
    task,
    stateIndex.get(value) ?? 0,
    context.worker,
    context.queue,
    context.title?.slice(0, titleLengthMax) ?? null,
    context.iteration?.iteration ?? null,
    context.iteration?.maxIterations ?? null,
    context.hooks.length,
    context.outcome,
    escalation?.reason.slice(0, reasonLengthMax) ?? null,
    record.lastMove?.atMs ?? null,
    escalation?.withWorker ? escalation.worker : null,
    context.priority,
    record.createdSeq,
  ];
}

const queueRow = (fleet: Fleet, queue: string): QueueRow => [
  queue,
  pendingIn(fleet, queue),
  fleet.queues.get(queue)?.reported ?? 0,
];
