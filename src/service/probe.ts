/** probe: may this worker stop? Runs the checks of a stop, but stores and counts nothing (protocol.md §5). */
import {
  type AwaitedCheck,
  type CheckResult,
  type Decision,
  type ProbeScope,
  probe,
  type WorkerContext,
} from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
import { notNeeded, startTimer } from '../timer.ts';
import { readAttempt } from './decide.ts';

/** `signal` aborts when nobody waits for the answer any longer; it ends running checks. `scope` defaults to a stop. */
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
  while ('awaited' in found) found = found.next(await callInTime(host, found.awaited, found.worker, signal));
  const tookMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000;
  return { ...found.decision, replica, tookMs };
}

/**
 * Enforces the check's timeout with a timer, since a probe has no deadline in the log.
 * @throws the reason of `signal`
 */
async function callInTime(
  host: Host,
  check: AwaitedCheck,
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
  const control = { signal: AbortSignal.any([abort.signal, signal]), onStarted };
  const result = await host.callCheck(check, worker, 'probe', control).finally(() => timer.clear());
  return abort.signal.aborted ? { attempt: 'probe', check: check.name, outcome: 'timeout' } : result;
}
