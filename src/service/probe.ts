/** probe: might this worker stop? Checks run as for a stop, and nothing is logged or counted (protocol.md §5). */
import {
  type CheckResult,
  type Decision,
  type PendingCheck,
  type ProbeScope,
  probe,
  type WorkerContext,
} from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import { notNeeded, startTimer } from '../timer.ts';
import { readAttempt } from './decide.ts';

/** `signal`: nobody waits for the answer any more, so no check goes on. `scope`: of a stop by default. */
type ProbeOptions = { readonly signal: AbortSignal; readonly scope?: ProbeScope | undefined };

export async function probeWorker(
  host: Host,
  replica: string,
  worker: string,
  body: unknown,
  { signal, scope = 'stop' }: ProbeOptions,
): Promise<Decision> {
  const fields = readAttempt(worker, body);
  await host.caughtUp();
  const startedMs = performance.now();
  let found = probe(host.fleet, worker, fields, host.logNow(), scope);
  while ('pending' in found) found = found.next(await callInTime(host, found.pending, found.worker, signal));
  const tookMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000;
  return { ...found.decision, replica, tookMs };
}

/** No log keeps this check's deadline, so a timer does. @throws the reason of `signal`, once that is aborted */
async function callInTime(
  host: Host,
  check: PendingCheck,
  worker: WorkerContext,
  signal: AbortSignal,
): Promise<CheckResult> {
  signal.throwIfAborted();
  const abort = new AbortController();
  let timer = startTimer(check.deadlineMs - check.sinceMs, () => abort.abort(notNeeded));
  const onStarted = () => {
    timer.clear();
    timer = startTimer(check.timeoutMs, () => abort.abort(notNeeded));
  };
  const how = { signal: AbortSignal.any([abort.signal, signal]), onStarted };
  const result = await host.callCheck(check, worker, 'probe', how).finally(() => timer.clear());
  return abort.signal.aborted ? { attempt: 'probe', check: check.name, outcome: 'timeout' } : result;
}
