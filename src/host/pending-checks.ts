/**
 * Pending checks: what open attempts wait for. The replica that owns an attempt calls its check, and stores the result
 * in the log. A check that no attempt waits for any more is cancelled.
 */
import {
  attemptMessageId,
  checkMessageId,
  checkStartedMessageId,
  type Fleet,
  type PendingCheck,
  type WorkerContext,
} from '../../machines/index.ts';
import { callCheck } from './check-call.ts';
import { storeCheckResult } from './check-results.ts';
import type { HostContext } from './context.ts';
import { appendUntilFolded } from './own-entries.ts';

export type PendingChecks = {
  /** Calls the check that the worker's open attempt waits for, if it is ours and not running yet. */
  start(worker: string): void;
  /** Cancels the worker's check if its attempt does not wait for it any more. */
  cancelStale(worker: string): void;
  /** The log's head is reached: starts what is ours, and cancels what is not any more. */
  open(): void;
  /** Cancels all, and starts none. */
  close(): void;
};

type Running = { readonly number: number; readonly attempt: string; readonly abort: AbortController };

export function createPendingChecks(context: HostContext): PendingChecks {
  const running = new Map<string, Running>();
  let closed = false;
  const cancelStale = (worker: string) => {
    const found = running.get(worker);
    if (found === undefined) return;
    const pending = pendingOf(context.fleet, worker);
    const isSame = pending?.attempt === found.attempt && pending.check.number === found.number;
    if (isSame && pending.owner === context.replica) return;
    running.delete(worker);
    found.abort.abort();
  };
  const start = (worker: string) => {
    cancelStale(worker);
    const pending = pendingOf(context.fleet, worker);
    // What is folded while this replica leaves is for the others.
    if (closed || pending === null || pending.owner !== context.replica || running.has(worker)) return;
    const abort = new AbortController();
    running.set(worker, { number: pending.check.number, attempt: pending.attempt, abort });
    void run(context, pending, abort.signal);
  };
  return {
    start,
    cancelStale,
    open() {
      for (const worker of [...running.keys()]) cancelStale(worker);
      for (const worker of context.fleet.open) start(worker);
    },
    close() {
      closed = true;
      for (const { abort } of running.values()) abort.abort();
      running.clear();
    },
  };
}

type Pending = {
  readonly worker: WorkerContext;
  readonly attempt: string;
  readonly check: PendingCheck;
  readonly owner: string | null;
};

function pendingOf(fleet: Fleet, id: string): Pending | null {
  const record = fleet.workers.get(id);
  const worker = record?.snapshot.context.worker;
  if (record === undefined || worker?.attempt?.pending == null) return null;
  return { worker, attempt: worker.attempt.attempt, check: worker.attempt.pending, owner: record.owner };
}

async function run(context: HostContext, { worker, attempt, check }: Pending, signal: AbortSignal): Promise<void> {
  const id = worker.worker;
  const isOpen = (now: Pending | null) =>
    !signal.aborted && now?.attempt === attempt && now.check.number === check.number;
  const onStarted = () =>
    void appendUntilFolded(context, {
      tail: `own.worker.${id}.check.started`,
      data: { attempt, check: check.name },
      messageId: checkStartedMessageId(id, attempt, check.number, check.name),
      isNeeded() {
        const now = pendingOf(context.fleet, id);
        return isOpen(now) && now?.check.startedMs === null;
      },
    });
  const call = () => callCheck(context, check, worker, attempt, { signal, onStarted });
  const result = await context.traces.callCheck(id, attempt, check.name, call);
  await storeCheckResult(context, result, {
    ...{ entity: 'worker', id, messageId: checkMessageId(id, attempt, check.number, check.name) },
    isNeeded: () => isOpen(pendingOf(context.fleet, id)),
    // The result is there and the log does not take it, so the caller need not wait for the decision.
    onRefused: (error) => context.decisionWaiters.fail(attemptMessageId(id, attempt), error),
  });
}
