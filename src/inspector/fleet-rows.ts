/** The fleet as rows: what the page needs of every actor, as compact as possible, since it gets thousands at once. */

import { openAmong } from '../../machines/fleet/refusals.ts';
import {
  type Fleet,
  idleLimitOf,
  isDone,
  parseIsoTime,
  pendingIn,
  policyInForce,
  queueOfWorker,
  type WorkerContext,
  type WorkerRecord,
} from '../../machines/index.ts';
import { awaitedWork } from '../../machines/policy/background.ts';
import { nameOfWork } from '../../machines/policy/running-work.ts';
import { sentenceOfTask, sentenceOfWorker } from '../../machines/replay/sentence.ts';
import { pauseAt } from '../../machines/values/pause.ts';
import { viewUsage } from '../../machines/values/usage.ts';
import type { LastMoves, Transition } from './messages.ts';
import {
  type Packed,
  type QueueRow,
  queueRows,
  type RowCodec,
  type TaskRow,
  taskRows,
  type WorkerRow,
  workerRows,
} from './rows.ts';

const titleLengthMax = 80;
const nameLengthMax = 128;

type Names = Readonly<Record<'workers' | 'tasks' | 'queues', Iterable<string>>>;

/** Rows of the named actors, as they are sent. Unknown names are left out. */
export const rowsOf = (fleet: Fleet, { workers, tasks, queues }: Names): Packed => ({
  workers: packRows(workerRows, rowsNamed(workers, fleet, workerRow)),
  tasks: packRows(taskRows, rowsNamed(tasks, fleet, taskRow)),
  queues: packRows(queueRows, rowsNamed(queues, fleet, queueRow)),
});

/** Rows of all actors, and what moved last, among the workers and among the tasks. */
export function wholeOf(fleet: Fleet): Packed & { readonly last: LastMoves } {
  // The rows tell which: to look at all workers once more would take as long as the rows.
  const [workers, tasks] = [createLatest(), createLatest()];
  const queues = new Set(['main', ...fleet.queues.keys()]);
  const rows = {
    workers: packRows(workerRows, workers.seen(rowsNamed(fleet.workers.keys(), fleet, workerRow))),
    tasks: packRows(taskRows, tasks.seen(rowsNamed(fleet.tasks.keys(), fleet, taskRow))),
    queues: packRows(queueRows, rowsNamed(queues, fleet, queueRow)),
  };
  const last = {
    worker: transitionOf('worker', fleet.workers.read(workers.id())),
    task: transitionOf('task', fleet.tasks.read(tasks.id())),
  };
  return { ...rows, last };
}

function* rowsNamed<Row>(
  names: Iterable<string>,
  fleet: Fleet,
  rowOf: (fleet: Fleet, name: string) => Row | null,
): Iterable<Row> {
  for (const name of names) {
    const row = rowOf(fleet, name);
    if (row !== null) yield row;
  }
}

function packRows<Row>(codec: RowCodec<Row>, rows: Iterable<Row>) {
  return Array.from(rows, (row) => codec.pack(row));
}

/** Remembers which of the rows that pass moved last; '' if none did. */
function createLatest() {
  let latest = { id: '', stateSinceMs: 0 };
  return {
    *seen<Row extends Pick<WorkerRow, 'id' | 'stateSinceMs'>>(rows: Iterable<Row>): Iterable<Row> {
      for (const row of rows) {
        const { id, stateSinceMs } = row;
        if (stateSinceMs !== null && stateSinceMs >= latest.stateSinceMs) latest = { id, stateSinceMs };
        yield row;
      }
    },
    id: () => latest.id,
  };
}

function transitionOf(
  machine: Transition['machine'],
  record: Pick<WorkerRecord, 'lastMove'> | undefined,
): Transition | null {
  const move = record?.lastMove ?? null;
  if (move === null) return null;
  return { machine, from: move.from, to: move.to, event: move.event, count: 1 };
}

function workerRow(fleet: Fleet, worker: string): WorkerRow | null {
  const record = fleet.workers.read(worker);
  if (record === undefined) return null;
  const { value } = record.snapshot;
  const it = record.snapshot.context.worker;
  const inForce = it.attempt?.inForce ?? policyInForce(fleet, it);
  const last = it.lastDecision;
  const { usd, tokens } = viewUsage(it.usage.session);
  const waits = waitsFor(record);
  const awaited = awaitedWork(it.background, inForce.policy.background, fleet.nowMs);
  const pause = pauseAt(it.pause, fleet.nowMs);
  return {
    id: worker,
    state: value.state,
    presence: value.presence,
    retryCount: it.retryCount,
    retryMax: inForce.policy.retries,
    keepAlives: it.keepAlives,
    idleSinceMs: it.tasks.length > 0 ? null : it.activeMs,
    idleLimitMs: it.attempt?.idleLimitMs ?? idleLimitOf(inForce.policy, it.profile),
    task: it.tasks.at(-1) ?? null,
    tasksHeld: it.tasks.length,
    agent: it.agent?.slice(0, nameLengthMax) ?? null,
    lastDecision: last?.decision ?? null,
    lastCause: last?.cause ?? null,
    lastDecisionMs: last === null ? null : parseIsoTime(last.at),
    lastSeenMs: record.lastSeenMs,
    parent: it.parent,
    waitsFor: waits,
    waitUntilMs: record.wakeMs,
    isAcknowledged: it.escalation?.acknowledgedBy != null,
    planDone: it.plan.filter(isDone).length,
    planTotal: it.plan.length,
    policy: inForce.name,
    queue: queueOfWorker(it, inForce),
    sentence: sentenceOfWorker(
      {
        state: value.state,
        presence: value.presence,
        ended: it.ended,
        escalation: it.escalation,
        resolution: it.resolution,
        inputs: it.inputs,
        plan: it.plan,
        tasks: it.tasks,
        lastDecision: last,
        retry: { count: it.retryCount, max: inForce.policy.retries },
        attempt: waits === null ? null : { waitsFor: waits === 'hold' ? waits : `check ${waits}` },
      },
      awaited.map(nameOfWork),
    ),
    stateSinceMs: record.lastMove?.atMs ?? null,
    awaitsInput: it.awaitsInput,
    usd,
    tokens,
    pausedBy: pause?.by.slice(0, nameLengthMax) ?? null,
    pausedUntilMs: pause?.untilMs ?? null,
    isWaiting: value.presence === 'limited' || (value.state === 'idle' && awaited.length > 0),
    ...personWait(it, inForce.policy.askMs), // at the end: fields behind a spread are slow (docs/decisions/010)
  };
}

/** An agent that asked several things gives up on the first of them first. */
function personWait({ escalation, inputs }: WorkerContext, askMs: number | null) {
  const first = escalation ?? inputs[0];
  const held = askMs === null ? undefined : inputs.find(({ request }) => request !== null);
  const heldMs = held === undefined ? null : parseIsoTime(held.since);
  return {
    personSinceMs: first === undefined ? null : parseIsoTime(first.since),
    askUntilMs: heldMs === null || askMs === null ? null : heldMs + askMs,
  };
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
  const { usd, tokens } = viewUsage(context.usage);
  return {
    id: task,
    state: value,
    worker: context.worker,
    queue: context.queue,
    title: context.title?.slice(0, titleLengthMax) ?? null,
    iteration: context.iteration?.iteration ?? null,
    maxIterations: context.iteration?.maxIterations ?? null,
    hooks: context.hooks.length,
    outcome: context.outcome,
    sentence: sentenceOfTask({ ...context, state: value }, openAmong(fleet, context.after)),
    stateSinceMs: record.lastMove?.atMs ?? null,
    escalatedWith: escalation?.withWorker ? escalation.worker : null,
    priority: context.priority,
    createdSeq: record.createdSeq,
    usd,
    tokens,
    sinceMs: record.lastMove?.atMs ?? record.namedMs,
  };
}

function queueRow(fleet: Fleet, queue: string): QueueRow {
  const { reported = 0, unattended = null, aloneMs = null } = fleet.queues.read(queue) ?? {};
  const workers = fleet.attendants.get(queue) ?? 0;
  return {
    id: queue,
    pending: pendingIn(fleet, queue),
    reported,
    workers,
    unattendedMs: unattended === null ? null : aloneMs,
    acknowledgedBy: unattended?.acknowledgedBy ?? null,
  };
}
