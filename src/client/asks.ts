/** decide, probe, verify and evaluate: may it stop, would it, is it complete, what do its hooks say? */
import {
  type AttemptFields,
  attemptSchema,
  type Decision,
  describeIssues,
  type HookResult,
  toIssues,
} from '../../machines/index.ts';
import { lastBytes } from '../agents/shared/text.ts';
import { AppError } from '../errors.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { newId } from '../nats/id.ts';
import { checkBytes, checkId } from '../parse-input.ts';
import { IncompleteError } from './incomplete-error.ts';
import { readDecision, readHookResult } from './replies.ts';

/** How long to wait for the answer; default: 10 minutes, and the hold. */
export type CallOptions = { readonly timeoutMs?: number };
export type Verification = { readonly complete: boolean; readonly decision: Decision };

/** Of an attempt's `output` only the last 32 KiB are sent. */
export type Asks = {
  /** May it stop? An attempt without an id gets one; the same id again gives the same decision and counts once. */
  decide(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** Would it? Nothing is logged or counted. */
  probe(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** Is its work complete? Only the causes `complete` and `no-policy` are a yes. */
  verify(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Verification>;
  /** @throws IncompleteError it is not. That nobody could tell is another error */
  assertComplete(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** What do the hooks of a task say of this iteration? @throws StopgateError entry.refused */
  evaluate(
    task: string,
    iteration: AttemptFields & { readonly iteration: number },
    options?: CallOptions,
  ): Promise<HookResult>;
};

/** Checks may be slow and a decision may be held, so it is waited for. */
const patienceMs = 600_000;
/** After this a decision is asked for by a request too, beside the wait for the fast path's answer. */
const fastPathMs = 2_000;
/** The last words count, and an entry has a limit (protocol 2). */
const outputBytesMax = 32_768;

/** `fastPath` false: answers on an inbox of this connection would be withheld. */
export function createAsks(link: ClientLink, { fastPath }: { readonly fastPath: boolean }): Asks {
  const decide: Asks['decide'] = async (worker, attempt = {}, { timeoutMs } = {}) => {
    checkId('worker', worker);
    const id = attempt.attempt ?? newId();
    const body = checkAttempt({ ...attempt, attempt: id });
    const waitMs = timeoutMs ?? patienceMs + (attempt.holdMs ?? 0);
    const startedMs = performance.now();
    const request = () =>
      link.request('decide', worker, body, Math.max(1, Math.round(waitMs - (performance.now() - startedMs))));
    if (!fastPath) return readDecision(await request());
    const short = await link.attempt(worker, id, body, Math.min(fastPathMs, waitMs / 2));
    try {
      const answer = short.answer.then((text): unknown => JSON.parse(text));
      return readDecision(await Promise.race([answer, short.unheard.then(request)]));
    } finally {
      short.close();
    }
  };
  const verify: Asks['verify'] = async (worker, attempt = {}, { timeoutMs = patienceMs } = {}) => {
    checkId('worker', worker);
    try {
      const decision = readDecision(await link.request('verify', worker, checkAttempt(attempt), timeoutMs));
      return { complete: true, decision };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'stop.incomplete') throw error;
      return { complete: false, decision: readDecision((error.details as { decision?: unknown }).decision) };
    }
  };
  return {
    decide,
    async probe(worker, attempt = {}, { timeoutMs = patienceMs } = {}) {
      checkId('worker', worker);
      return readDecision(await link.request('probe', worker, checkAttempt(attempt), timeoutMs));
    },
    verify,
    async assertComplete(worker, attempt, options) {
      const { complete, decision } = await verify(worker, attempt, options);
      if (!complete) throw new IncompleteError(decision);
      return decision;
    },
    async evaluate(task, iteration, { timeoutMs = patienceMs } = {}) {
      checkId('task', task);
      return readHookResult(await link.request('evaluate', task, checkAttempt(iteration), timeoutMs));
    },
  };
}

/** What is sent of an attempt. @throws AppError input.bad, entry.large */
function checkAttempt(given: AttemptFields): AttemptFields {
  const { output } = given;
  const fields = typeof output === 'string' ? { ...given, output: lastBytes(output, outputBytesMax) } : given;
  checkBytes('request', Buffer.byteLength(JSON.stringify(fields)));
  const parsed = attemptSchema.safeParse(fields);
  if (parsed.success) return fields;
  const issues = toIssues(parsed.error);
  throw new AppError('input.bad', `this is no attempt to stop: ${describeIssues(issues)}`, { issues });
}
