/**
 * A fleet as rows: what the page needs of every actor at once, as short as it can be, since thousands go out together.
 * The page reads them by the same types.
 */
import {
  type Fleet,
  idleLimitOf,
  isDone,
  parseIsoTime,
  pendingIn,
  policyInForce,
  presences,
  queueOfWorker,
  type WorkerRecord,
  workerStates,
} from '../../machines/index.ts';

/** Times are milliseconds since 1970 of the log's clock; states and presences are places in `workerStates`, `presences`. */
export type WorkerRow = readonly [
  worker: string,
  state: number,
  presence: number,
  retryCount: number,
  retryMax: number | null,
  keepAlives: number,
  /** Idle time counts from here; null while a task is held. */
  idleSinceMs: number | null,
  idleLimitMs: number | null,
  task: string | null,
  tasksHeld: number,
  agent: string | null,
  lastDecision: 'allow' | 'block' | null,
  lastCause: string | null,
  lastDecisionMs: number | null,
  lastSeenMs: number,
  parent: string | null,
  waitsFor: string | null,
  waitUntilMs: number | null,
  acknowledged: 0 | 1,
  planDone: number,
  planTotal: number,
  policy: string,
  queue: string,
];
export type TaskRow = readonly [
  task: string,
  state: number,
  worker: string | null,
  queue: string | null,
  title: string | null,
  iteration: number | null,
  maxIterations: number | null,
  hooks: number,
  outcome: 'completed' | 'cancelled' | null,
];
export type QueueRow = readonly [queue: string, pending: number, reported: number];
export type Rows = { readonly workers: WorkerRow[]; readonly tasks: TaskRow[]; readonly queues: QueueRow[] };

const stateIndex = new Map(workerStates.map((state, index) => [state, index]));
const presenceIndex = new Map(presences.map((presence, index) => [presence, index]));
const titleLengthMax = 80;
const nameLengthMax = 128;

function workerRow(fleet: Fleet, worker: string): WorkerRow | null {
  const record = fleet.workers.get(worker);
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
  ];
}

function waitsFor({ snapshot }: WorkerRecord): string | null {
  const { attempt } = snapshot.context.worker;
  if (attempt === null) return null;
  return attempt.pending === null ? 'hold' : attempt.pending.name;
}

function taskRow(fleet: Fleet, task: string): TaskRow | null {
  const snapshot = fleet.tasks.get(task)?.snapshot;
  if (snapshot === undefined) return null;
  const { context, value } = snapshot;
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
  ];
}

const queueRow = (fleet: Fleet, queue: string): QueueRow => [
  queue,
  pendingIn(fleet, queue),
  fleet.queues.get(queue)?.reported ?? 0,
];

/** Of these names, or of all that there are. */
export function rowsOf(
  fleet: Fleet,
  names?: { readonly workers: Iterable<string>; readonly tasks: Iterable<string>; readonly queues: Iterable<string> },
): Rows {
  const { workers, tasks, queues } = names ?? {
    workers: fleet.workers.keys(),
    tasks: fleet.tasks.keys(),
    queues: new Set(['main', ...fleet.queues.keys()]),
  };
  const there = <Row>(row: Row | null): row is Row => row !== null;
  return {
    workers: [...workers].map((worker) => workerRow(fleet, worker)).filter(there),
    tasks: [...tasks].map((task) => taskRow(fleet, task)).filter(there),
    queues: [...queues].map((queue) => queueRow(fleet, queue)),
  };
}
