/** Builds the compact rows that the page receives for every actor, thousands of them at once. */

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
import { matterOfTask, matterOfWorker } from '../../machines/replay/matter.ts';
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

/** Packed rows of the named actors. Unknown names are skipped. */
export const rowsOf = (fleet: Fleet, { workers, tasks, queues }: Names): Packed => ({
  workers: packRows(workerRows, rowsNamed(workers, fleet, workerRow)),
  tasks: packRows(taskRows, rowsNamed(tasks, fleet, taskRow)),
  queues: packRows(queueRows, rowsNamed(queues, fleet, queueRow)),
});

/** Packed rows of all actors, and the latest move of any worker and of any task. */
export function allRows(fleet: Fleet): Packed & { readonly last: LastMoves } {
  // Find the latest moves while packing. A second pass over all workers would double the time.
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

/** Remembers which of the rows that pass through `seen` moved last. The id is '' if none did. */
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
  const context = record.snapshot.context.worker;
  const inForce = context.attempt?.inForce ?? policyInForce(fleet, context);
  const last = context.lastDecision;
  const { usd, tokens } = viewUsage(context.usage.session);
  const waits = waitsFor(record);
  const awaited = awaitedWork(context.background, inForce.policy.background, fleet.nowMs);
  const pause = pauseAt(context.pause, fleet.nowMs);
  return {
    id: worker,
    title: context.title,
    state: value.state,
    presence: value.presence,
    retryCount: context.retryCount,
    retryMax: inForce.policy.retries,
    keepAlives: context.keepAlives,
    idleSinceMs: context.tasks.length > 0 ? null : context.activeMs,
    idleLimitMs: context.attempt?.idleLimitMs ?? idleLimitOf(inForce.policy, context.profile),
    task: context.tasks.at(-1) ?? null,
    tasksHeld: context.tasks.length,
    agent: context.agent?.slice(0, nameLengthMax) ?? null,
    lastDecision: last?.decision ?? null,
    lastCause: last?.cause ?? null,
    lastDecisionMs: last === null ? null : parseIsoTime(last.at),
    lastSeenMs: record.lastSeenMs,
    parent: context.parent,
    waitsFor: waits,
    waitUntilMs: record.wakeMs,
    isAcknowledged: context.escalation?.acknowledgedBy != null,
    planDone: context.plan.filter(isDone).length,
    planTotal: context.plan.length,
    policy: inForce.name,
    queue: queueOfWorker(context, inForce),
    sentence: sentenceOfWorker(
      {
        state: value.state,
        presence: value.presence,
        ended: context.ended,
        escalation: context.escalation,
        resolution: context.resolution,
        inputs: context.inputs,
        plan: context.plan,
        tasks: context.tasks,
        lastDecision: last,
        retry: { count: context.retryCount, max: inForce.policy.retries },
        attempt: waits === null ? null : { waitsFor: waits === 'hold' ? waits : `check ${waits}` },
      },
      awaited.map(nameOfWork),
    ),
    stateSinceMs: record.lastMove?.atMs ?? null,
    sinceMs: workerSinceMs(record),
    escalatedFor: context.escalation?.cause ?? null,
    awaitsInput: context.awaitsInput,
    usd,
    tokens,
    pausedBy: pause?.by.slice(0, nameLengthMax) ?? null,
    pausedUntilMs: pause?.untilMs ?? null,
    isWaiting: value.presence === 'limited' || (value.state === 'idle' && awaited.length > 0),
    matter: matterOfWorker(context),
    ...personWait(context, inForce.policy.askMs), // last, because fields after a spread are slow (docs/decisions/010)
  };
}

/** A further attempt moves an escalated worker to `validating` and back, and it is escalated since its escalation. */
function workerSinceMs({ snapshot: { value, context }, lastMove }: WorkerRecord): number {
  const { escalation, usage } = context.worker;
  if (value.state === 'escalated' && escalation !== null) return parseIsoTime(escalation.since) ?? 0;
  // Before its first move, it is idle since its session began.
  return lastMove?.atMs ?? usage.session.sinceMs;
}

/** Since when the worker waits for a person, and when its agent gives up on the oldest held question. */
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
    sinceMs: record.lastMove?.atMs ?? record.createdMs,
    heldSinceMs: context.worker === null ? null : context.usage.sinceMs,
    escalatedSinceMs: escalation === null ? null : parseIsoTime(escalation.since),
    isAcknowledged: escalation?.acknowledgedBy != null,
    matter: matterOfTask(escalation),
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
