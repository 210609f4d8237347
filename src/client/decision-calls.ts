/** The calls decide, probe, verify and evaluate. */
import { setTimeout } from 'node:timers/promises';
import {
  type AttemptFields,
  attemptSchema,
  type Decision,
  describeIssues,
  type Feedback,
  type HookResult,
  toIssues,
} from '../../machines/index.ts';
import { lastBytes } from '../agents/shared/text.ts';
import { AppError } from '../errors.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { RequestError, TimeoutError } from '../nats/connection.ts';
import { newId } from '../nats/id.ts';
import { checkBytes, checkId } from '../service/parse-input.ts';
import { readDecision, readHookResult } from './replies.ts';

/** Timeout of one request. The replica that took it may be gone; another replica can answer a repeat. */
const silenceMs = 30_000;
/** How long to tolerate a service without responders: a replica may be starting or handing over. */
const awayMsMax = 5_000;
const pauseMs = 250;

/**
 * Repeats a request until it is answered, across restarts of replicas.
 * @param ask sends the request; must use the same attempt id each time, so that the attempt counts once
 * @param waitMs time limit for all attempts together
 * @throws AppError the last error, or at once an error that a repeat would not change
 */
export async function askUntilAnswered<Answer>(
  ask: (timeoutMs: number) => Promise<Answer>,
  waitMs: number,
): Promise<Answer> {
  const endsMs = performance.now() + waitMs;
  let awaySinceMs: number | null = null;
  for (;;) {
    try {
      return await ask(Math.max(1, Math.round(Math.min(silenceMs, endsMs - performance.now()))));
    } catch (error) {
      const nowMs = performance.now();
      if (!(error instanceof AppError)) throw error;
      if (error.cause instanceof TimeoutError) {
        if (nowMs >= endsMs) throw error;
        awaySinceMs = null; // a replica took the request
        continue;
      }
      if (!isAway(error)) throw error;
      awaySinceMs ??= nowMs;
      const afterMs = Math.max(pauseMs, error.retryAfterMs ?? 0) + Math.random() * pauseMs;
      if (nowMs + afterMs > Math.min(endsMs, awaySinceMs + awayMsMax)) throw error;
      await setTimeout(afterMs);
    }
  }
}

/** How often to query the service while a request is unanswered: its checks may be slow, or it may have ended. */
const queryEveryMs = 5_000;
const queryMsMax = 5_000;

/**
 * Waits for an answer as long as the fleet has a service. Without one, a request may reach another listener, such as a
 * person who watches the bus, and would never be answered.
 * @throws AppError service.unreachable if no service answers a simple query
 */
async function whileServed<Answer>(link: Pick<ClientLink, 'request'>, answer: Promise<Answer>): Promise<Answer> {
  const done = new AbortController();
  const watchService = async (): Promise<never> => {
    for (;;) {
      await setTimeout(queryEveryMs, undefined, { signal: done.signal, ref: false });
      const error = await link.request('list', 'workers', { limit: 1 }, queryMsMax).then(
        () => null,
        (cause: AppError) => cause,
      );
      if (error?.cause instanceof TimeoutError || (error !== null && isUnserved(error)))
        throw new AppError('service.unreachable', noService);
    }
  };
  const watching = watchService();
  watching.catch(() => {});
  try {
    return await Promise.race([answer, watching]);
  } finally {
    done.abort();
  }
}
const noService =
  'no stopgate service answers for this fleet; start one with "stopgate serve" or "stopgate dev", or choose another fleet';

const isUnserved = ({ cause }: AppError): boolean => cause instanceof RequestError && cause.isNoResponders();

/** No replica responds, or the one that does cannot answer at the moment. */
const isAway = (error: AppError): boolean => error.code === 'log.unavailable' || isUnserved(error);

/** Thrown when the final verification finds the work incomplete (seed 002). The message is the decision's reason. */
export class IncompleteError extends AppError {
  override readonly name = 'IncompleteError';
  readonly decision: Decision;
  readonly feedback: readonly Feedback[];

  constructor(decision: Decision) {
    super('stop.incomplete', decision.reason, { details: { decision } });
    this.decision = decision;
    this.feedback = decision.feedback;
  }
}

/** `timeoutMs`: how long to wait for the reply. Default: 10 minutes plus the hold. */
export type CallOptions = { readonly timeoutMs?: number };
export type Verification = { readonly complete: boolean; readonly decision: Decision };
/**
 * `decision` is null for a task without a holder that was never judged. `said` is true if its worker reported
 * completion but no check judged it.
 */
export type TaskVerification = {
  readonly complete: boolean;
  readonly said: boolean;
  readonly reason: string;
  readonly decision: Decision | null;
};

/** The calls that ask for a decision. They send at most the last 32 KiB of an attempt's `output`. */
export type DecisionCalls = {
  /**
   * May the worker stop? Generates an attempt id if none is given. A repeated id returns the same decision and counts
   * once, so the call repeats its request when a replica dies, until the timeout.
   */
  decide(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** A dry run of `decide`: nothing is logged or counted. */
  probe(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** Is the worker's work complete? Only the causes `complete` and `no-policy` count. */
  verify(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Verification>;
  /** Has a judgement found this task complete? @throws StopgateError actor.unknown */
  verifyTask(task: string, attempt?: AttemptFields, options?: CallOptions): Promise<TaskVerification>;
  /** Like `verify`, but throws IncompleteError if incomplete. Failing to verify is a different error. */
  assertComplete(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** Evaluates a task's hooks for one iteration. @throws StopgateError entry.refused */
  evaluate(
    task: string,
    iteration: AttemptFields & { readonly iteration: number },
    options?: CallOptions,
  ): Promise<HookResult>;
};

/** Generous because checks may be slow. A hold is added. */
const timeoutDefaultMs = 600_000;
/** After this delay, `decide` also sends an ordinary request and takes whichever reply comes first. */
const fastPathMs = 2_000;
/** Entries are limited in size (protocol.md §2), and the end of an output matters most. */
const outputBytesMax = 32_768;

/** `fastPath` must be false for a connection with a private inbox, which the fast path cannot reply to. */
export function createDecisionCalls(link: ClientLink, { fastPath }: { readonly fastPath: boolean }): DecisionCalls {
  const decide: DecisionCalls['decide'] = async (worker, attempt = {}, { timeoutMs } = {}) => {
    checkId('worker', worker);
    const id = attempt.attempt ?? newId();
    const body = toRequest({ ...attempt, attempt: id });
    const waitMs = timeoutMs ?? timeoutDefaultMs + (attempt.holdMs ?? 0);
    const startedMs = performance.now();
    const request = () =>
      askUntilAnswered(
        (timeoutMs) => link.request('decide', worker, body, timeoutMs),
        waitMs - (performance.now() - startedMs),
      );
    if (!fastPath) return readDecision(await whileServed(link, request()));
    const fast = await link.attempt(worker, id, body, Math.min(fastPathMs, waitMs / 2));
    try {
      const answer = fast.answer.then((text): unknown => JSON.parse(text));
      return readDecision(await whileServed(link, Promise.race([answer, fast.unanswered.then(request)])));
    } finally {
      fast.close();
    }
  };
  const verify: DecisionCalls['verify'] = async (worker, attempt = {}, { timeoutMs = timeoutDefaultMs } = {}) => {
    checkId('worker', worker);
    try {
      const decision = readDecision(
        await whileServed(link, link.request('verify', worker, toRequest(attempt), timeoutMs)),
      );
      return { complete: true, decision };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'stop.incomplete') throw error;
      return { complete: false, decision: readDecision((error.details as { decision?: unknown }).decision) };
    }
  };
  return {
    decide,
    async probe(worker, attempt = {}, { timeoutMs = timeoutDefaultMs } = {}) {
      checkId('worker', worker);
      return readDecision(await whileServed(link, link.request('probe', worker, toRequest(attempt), timeoutMs)));
    },
    verify,
    async verifyTask(task, attempt = {}, { timeoutMs = timeoutDefaultMs } = {}) {
      checkId('task', task);
      try {
        const decision = readDecision(
          await whileServed(link, link.request('verify-task', task, toRequest(attempt), timeoutMs)),
        );
        return { complete: true, said: false, reason: decision.reason, decision };
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'stop.incomplete') throw error;
        const { decision, said = false } = error.details as { decision?: unknown; said?: boolean };
        const judged = decision === undefined ? null : readDecision(decision);
        return { complete: false, said, reason: error.message, decision: judged };
      }
    },
    async assertComplete(worker, attempt, options) {
      const { complete, decision } = await verify(worker, attempt, options);
      if (!complete) throw new IncompleteError(decision);
      return decision;
    },
    async evaluate(task, iteration, { timeoutMs = timeoutDefaultMs } = {}) {
      checkId('task', task);
      return readHookResult(await whileServed(link, link.request('evaluate', task, toRequest(iteration), timeoutMs)));
    },
  };
}

/** Validates the attempt and shortens its output. @throws AppError input.bad, entry.large */
function toRequest(attempt: AttemptFields): AttemptFields {
  const { output } = attempt;
  const fields = typeof output === 'string' ? { ...attempt, output: lastBytes(output, outputBytesMax) } : attempt;
  checkBytes('request', Buffer.byteLength(JSON.stringify(fields)));
  const parsed = attemptSchema.safeParse(fields);
  if (parsed.success) return fields;
  const issues = toIssues(parsed.error, fields);
  throw new AppError('input.bad', `this is not a stop attempt: ${describeIssues(issues)}`, { issues });
}
