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
import { startTimer } from '../timer.ts';
import { readAttempt } from './attempt-fields.ts';

export async function probeWorker(
  host: Host,
  replica: string,
  worker: string,
  body: unknown,
  scope: ProbeScope = 'stop',
): Promise<Decision> {
  const fields = readAttempt(worker, body);
  await host.caughtUp();
  const startedMs = performance.now();
  let found = probe(host.fleet, worker, fields, host.logNow(), scope);
  while ('pending' in found) found = found.next(await callInTime(host, found.pending, found.worker));
  const tookMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000;
  return { ...found.decision, replica, tookMs };
}

/** No log keeps this check's deadline, so a timer does. */
async function callInTime(host: Host, check: PendingCheck, worker: WorkerContext): Promise<CheckResult> {
  const abort = new AbortController();
  let timer = startTimer(check.deadlineMs - check.sinceMs, () => abort.abort());
  const onStarted = () => {
    timer.clear();
    timer = startTimer(check.timeoutMs, () => abort.abort());
  };
  const how = { signal: abort.signal, onStarted };
  const result = await host.callCheck(check, worker, 'probe', how).finally(() => timer.clear());
  return abort.signal.aborted ? { attempt: 'probe', check: check.name, outcome: 'timeout' } : result;
}
