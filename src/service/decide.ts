/** decide, probe and evaluate: what an agent asks about an attempt (protocol.md §5); and snapshot, which an operator asks for. */
import {
  type AttemptFields,
  attemptSchema,
  type CheckResult,
  type Decision,
  type HookResult,
  type PendingCheck,
  type ProbeScope,
  probe,
  quickRead,
  readFields,
  type WorkerContext,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import type { SnapshotTaken } from '../host/keeping/snapshots.ts';
import type { Endpoint } from '../nats/request-server.ts';
import { startTimer } from '../timer.ts';
import { checkBody, checkId, parseInput } from './parse-input.ts';

// The body of decide, probe and verify: the fields of an attempt (protocol.md §5).

/** @throws AppError input.bad, entry.large */
export function readAttempt(worker: string, body: unknown): AttemptFields {
  checkId('worker', worker);
  checkBody(body);
  const given = body ?? {};
  const fields = quickRead('stop.attempted', given) ?? parseInput(attemptSchema, given);
  // Unknown fields go into the log as they came.
  return { ...given, ...fields };
}

export const decide = async (host: Host, worker: string, body: unknown): Promise<Decision> =>
  host.attempt(worker, readAttempt(worker, body));

/** probe: might this worker stop? Checks run as for a stop, and nothing is logged or counted (protocol.md §5). */
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

/** evaluate: what do the hooks of this task decide of its iteration? It is logged (protocol.md §2 and §7). */
export async function evaluate(host: Host, task: string, body: unknown): Promise<HookResult> {
  checkId('task', task);
  checkBody(body);
  const address = { area: 'task', fleet: host.fleet.name, id: task, type: 'iteration.validated' } as const;
  const entry = readFields(address, body ?? {});
  if ('code' in entry) throw new AppError('input.bad', entry.message, { issues: entry.issues });
  // Unknown fields go into the log as they came.
  return host.evaluate(task, body as object);
}

// snapshot: writes the state of the fleet now (protocol.md §15). Only for operators, by the servers' permissions.

/** `stopgate.<fleet>.snapshot.<fleet>` */
export const snapshotEndpoint = (fleet: string, take: () => Promise<SnapshotTaken>): Endpoint => ({
  name: 'snapshot',
  subject: `stopgate.${fleet}.snapshot`,
  handle: take,
});
