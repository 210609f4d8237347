/** probe: might this worker stop? Checks run as for a stop, and nothing is logged or counted (protocol.md §5). */
import {
  type Ask,
  type CheckResult,
  type Decision,
  type ProbeScope,
  probe,
  type WorkerContext,
} from '../../machines/index.ts';
import type { Host } from '../host/host.ts';
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
  while ('ask' in found) found = found.next(await callInTime(host, found.ask, found.worker));
  const tookMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000;
  return { ...found.decision, replica, tookMs };
}

/** No log keeps this check's deadline, so a timer does. */
async function callInTime(host: Host, ask: Ask, worker: WorkerContext): Promise<CheckResult> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), ask.deadlineMs - ask.askedMs);
  const result = await host.callCheck(ask, worker, 'probe', abort.signal).finally(() => clearTimeout(timer));
  return abort.signal.aborted ? { attempt: 'probe', check: ask.name, outcome: 'timeout' } : result;
}
