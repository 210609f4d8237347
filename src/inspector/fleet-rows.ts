/** The fleet as rows: what the page needs of every actor, as compact as possible, since it gets thousands at once. */

import { openAmong } from '../../machines/fleet/queues/claims.ts';
import {
  type Fleet,
  idleLimitOf,
  isDone,
  parseIsoTime,
  pendingIn,
  policyInForce,
  presences,
  queueOfWorker,
  type WorkerContext,
  type WorkerRecord,
  workerStates,
} from '../../machines/index.ts';
import { sentenceOfTask, sentenceOfWorker } from '../../machines/replay/sentence.ts';
import { viewUsage } from '../../machines/values/usage.ts';
import {
  type LastMoves,
  type QueueRow,
  queueFields,
  type Rows,
  type SentRow,
  type TaskRow,
  type Transition,
  taskFields,
  toSentRow,
  type WorkerRow,
  workerFields,
} from './messages.ts';

const stateIndex = new Map(workerStates.map((state, index) => [state, index]));
const presenceIndex = new Map(presences.map((presence, index) => [presence, index]));
const titleLengthMax = 80;
const nameLengthMax = 128;

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
  return {
    workers: sentRows(workerFields, workers, (worker) => workerRow(fleet, worker)),
    tasks: sentRows(taskFields, tasks, (task) => taskRow(fleet, task)),
    queues: sentRows(queueFields, queues, (queue) => queueRow(fleet, queue)),
  };
}

function sentRows<Row extends object>(
  fields: readonly (keyof Row)[],
  names: Iterable<string>,
  rowOf: (name: string) => Row | null,
): SentRow[] {
  const rows: SentRow[] = [];
  for (const name of names) {
    const row = rowOf(name);
    if (row !== null) rows.push(toSentRow(fields, row));
  }
  return rows;
}

/** Rows of all actors, and what moved last, among the workers and among the tasks. */
export function wholeOf(fleet: Fleet): Rows & { readonly last: LastMoves } {
  const rows = rowsOf(fleet);
  // The rows tell which: to look at all workers once more would take as long as the rows.
  const worker = lastMoved(rows.workers, workerFields.indexOf('stateSinceMs'));
  const task = lastMoved(rows.tasks, taskFields.indexOf('stateSinceMs'));
  const last = {
    w: transitionOf('w', worker === null ? undefined : fleet.workers.read(worker)),
    t: transitionOf('t', task === null ? undefined : fleet.tasks.read(task)),
  };
  return { ...rows, last };
}

function lastMoved(rows: readonly SentRow[], movedAt: number): string | null {
  let [last, atMs]: [unknown, number] = [null, 0];
  for (const row of rows) {
    const movedMs = Number(row[movedAt] ?? -1);
    if (movedMs >= atMs) [last, atMs] = [row[0], movedMs];
  }
  return last as string | null;
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
  const { usd, tokens } = viewUsage(it.usage.session);
  const waits = waitsFor(record);
  return {
    id: worker,
    state: stateIndex.get(value.state) ?? 0,
    presence: presenceIndex.get(value.presence) ?? 0,
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
    acknowledged: it.escalation?.acknowledgedBy == null ? 0 : 1,
    planDone: it.plan.filter(isDone).length,
    planTotal: it.plan.length,
    policy: inForce.name,
    queue: queueOfWorker(it, inForce),
    sentence: sentenceOfWorker({
      ...{ ...value, ended: it.ended, escalation: it.escalation, resolution: it.resolution, inputs: it.inputs },
      ...{ background: it.background, plan: it.plan, tasks: it.tasks, lastDecision: last },
      retry: { count: it.retryCount, max: inForce.policy.retries },
      attempt: waits === null ? null : { waitsFor: waits === 'hold' ? waits : `check ${waits}` },
    }),
    stateSinceMs: record.lastMove?.atMs ?? null,
    awaitsInput: it.awaitsInput ? 1 : 0,
    ...{ usd, tokens },
    ...personWait(it, inForce.policy.askMs),
    isWaiting: value.presence === 'limited' || (value.state === 'idle' && it.background.length > 0) ? 1 : 0,
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
    state: stateIndex.get(value) ?? 0,
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
    ...{ usd, tokens },
    sinceMs: record.lastMove?.atMs ?? record.namedMs,
  };
}

function queueRow(fleet: Fleet, queue: string): QueueRow {
  const { reported = 0, unattended = null, aloneMs = null } = fleet.queues.read(queue) ?? {};
  const workers = fleet.attendants.get(queue) ?? 0;
  return {
    ...{ id: queue, pending: pendingIn(fleet, queue), reported, workers },
    unattendedMs: unattended === null ? null : aloneMs,
  };
}
