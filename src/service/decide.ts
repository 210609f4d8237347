/** decide, probe and evaluate: what an agent asks about an attempt (protocol.md §5); and snapshot, which an operator asks for. */
import {
  type AttemptFields,
  attemptSchema,
  type CheckResult,
  type Decision,
  type HookResult,
  jsonDepthMax,
  type PendingCheck,
  type ProbeScope,
  probe,
  quickRead,
  readFields,
  readJson,
  type WorkerContext,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { encodeDecision } from '../host/fold/decision-bytes.ts';
import type { Host } from '../host/host.ts';
import type { Reply } from '../host/intake/open-request.ts';
import type { SnapshotTaken } from '../host/maintenance/snapshots.ts';
import { type Endpoint, replyLater } from '../nats/request-server.ts';
import { notNeeded, startTimer } from '../timer.ts';
import { checkBody, checkBytes, checkId, parseInput } from './parse-input.ts';

// The body of decide, probe and verify: the fields of an attempt (protocol.md §5).

/** @throws AppError input.bad, entry.large */
export function readAttempt(worker: string, body: unknown): AttemptFields {
  checkId('worker', worker);
  checkBody(body);
  const given = body ?? {};
  const fields = quickRead('stop.attempted', given) ?? parseInput(attemptSchema, given);
  return { ...given, ...fields };
}

/** @throws AppError as `Service.decide` */
export const decide = (host: Host, worker: string, body: unknown): Promise<Decision> =>
  new Promise((resolve, reject) => {
    checkId('worker', worker);
    attempt(host, worker, body ?? {}, checkBody(body), (answer) =>
      answer instanceof Error ? reject(answer) : resolve(answer),
    );
  });

/** decide as a request over NATS: answered in the turn of its decision. */
export const decideRequest =
  (host: Host): Endpoint['handle'] =>
  ({ tail: worker, text, bytes }, respond) => {
    checkBytes('request', bytes);
    const read = readJson(text, 'the payload', jsonDepthMax);
    if (!read.ok) throw new AppError('input.bad', read.message);
    checkId('worker', worker);
    attempt(host, worker, read.value, text, (answer) =>
      respond(answer instanceof Error ? answer : encodeDecision(answer)),
    );
  };

/** @param text of `given`, as JSON. It is stored, unless the schema reads something else from it than it says. */
function attempt(host: Host, worker: string, given: object, text: string, reply: Reply<Decision>): void {
  const plain = quickRead('stop.attempted', given) as AttemptFields | null;
  const fields = plain ?? parseInput(attemptSchema, given);
  // Unknown fields go into the log as they came.
  const payload = plain === null ? JSON.stringify({ ...given, ...fields }) : text || '{}';
  host.attempt(worker, { attempt: fields.attempt, payload }, reply);
}

/** `signal`: nobody waits for the answer any more, so no check goes on. `scope`: of a stop by default. */
type ProbeOptions = { readonly signal: AbortSignal; readonly scope?: ProbeScope | undefined };

/** probe: might this worker stop? Checks run as for a stop, and nothing is logged or counted (protocol.md §5). */
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
  handle: replyLater(take),
});
