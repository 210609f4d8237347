/** decide, probe and verify: may this worker stop, would it, is its work complete? (protocol 5) */
import {
  type AttemptFields,
  attemptSchema,
  type Decision,
  isId,
  isTooDeep,
  type ProbeScope,
  payloadBytesMax,
  probe,
  tooDeepMessage,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { parseInput } from '../parse-input.ts';

export type Decider = {
  decide(worker: string, body: unknown): Promise<Decision>;
  probe(worker: string, body: unknown, scope?: ProbeScope): Promise<Decision>;
  verify(worker: string, body: unknown): Promise<Decision>;
};

export function createDecider(host: Host, replica: string): Decider {
  const dryRun = async (worker: string, body: unknown, scope: ProbeScope = 'stop'): Promise<Decision> => {
    const fields = readAttempt(worker, body);
    await host.caughtUp();
    const startedMs = performance.now();
    let found = probe(host.fleet, worker, fields, host.logNow(), scope);
    while ('ask' in found) {
      const { ask, worker: context, next } = found;
      const timeoutMs = ask.deadlineMs - ask.askedMs;
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), timeoutMs);
      const result = await host.callCheck(ask, context, 'probe', abort.signal).finally(() => clearTimeout(timer));
      found = next(abort.signal.aborted ? { attempt: 'probe', check: ask.name, outcome: 'timeout' } : result);
    }
    return { ...found.decision, replica, tookMs: Math.round((performance.now() - startedMs) * 1_000) / 1_000 };
  };
  return {
    decide: (worker, body) => host.attempt(worker, readAttempt(worker, body)),
    probe: dryRun,
    async verify(worker, body) {
      const decision = await dryRun(worker, body);
      if (decision.decision === 'allow' && (decision.cause === 'complete' || decision.cause === 'no-policy'))
        return decision;
      throw new AppError('stop.incomplete', decision.reason, { details: { decision } });
    },
  };
}

/** @throws AppError input.bad, entry.large */
function readAttempt(worker: string, body: unknown): AttemptFields {
  checkId('worker', worker);
  if (isTooDeep(body)) throw new AppError('input.bad', tooDeepMessage);
  const bytes = Buffer.byteLength(JSON.stringify(body ?? {}));
  checkBytes('request', bytes);
  const fields = parseInput(attemptSchema, body ?? {});
  // What the schema does not know goes into the log as it came.
  return { ...(body as object), ...fields };
}

/** @throws AppError entry.large */
export function checkBytes(what: 'request' | 'entry', bytes: number): void {
  if (bytes <= payloadBytesMax) return;
  throw new AppError('entry.large', `the ${what} has ${bytes} bytes; the limit is ${payloadBytesMax}`);
}

/** @throws AppError input.bad */
export function checkId(entity: string, id: string): void {
  if (!isId(id))
    throw new AppError(
      'input.bad',
      `'${id.slice(0, 140)}' is no id of a ${entity}: letters, digits, _ and - (128 at most)`,
    );
}
