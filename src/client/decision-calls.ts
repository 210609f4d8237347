/** decide, probe, verify and evaluate: may a worker stop, would it, is its work complete, what do its hooks return? */
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

// Asks for a decision until it comes: a replica that stops or dies takes its answer with it, and another one has it.

/** A question that got no answer in this time is asked again: its replica may be gone. */
const silenceMs = 30_000;
/**
 * The time that a replica may take to start, or to give way to another; a service that is silent for longer is down.
 */
const awayMsMax = 5_000;
const pauseMs = 250;

/**
 * @param ask has the same attempt id each time, so that it is decided and counted once
 * @param waitMs in all
 * @throws AppError of the last time, or at once what would not change
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
        awaySinceMs = null; // somebody took the question
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

/** A replica that cannot answer now, or none at this moment. */
const isAway = ({ code, cause }: AppError): boolean =>
  code === 'log.unavailable' || (cause instanceof RequestError && cause.isNoResponders());

/** The final verification failed (seed 002): the work is not complete. The message is the decision's reason. */
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

/** The call waits this long for the reply; default: 10 minutes plus the hold. */
export type CallOptions = { readonly timeoutMs?: number };
export type Verification = { readonly complete: boolean; readonly decision: Decision };
/**
 * `decision`: null for a task that nobody holds and that was not judged. `said`: its worker reported it as completed, and
 * nobody judged it.
 */
export type TaskVerification = {
  readonly complete: boolean;
  readonly said: boolean;
  readonly reason: string;
  readonly decision: Decision | null;
};

/** The calls that ask for a decision. They send only the last 32 KiB of an attempt's `output`. */
export type DecisionCalls = {
  /**
   * May it stop? An attempt without an id gets one; a repeated id returns the same decision and counts once. So a question
   * whose replica stops or dies is asked again with its id, until its time is over.
   */
  decide(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** A dry run of `decide`: nothing is logged or counted. */
  probe(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** Is its work complete? Only the causes `complete` and `no-policy` count as complete. */
  verify(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Verification>;
  /** Is this task complete, by a judgement? @throws StopgateError actor.unknown */
  verifyTask(task: string, attempt?: AttemptFields, options?: CallOptions): Promise<TaskVerification>;
  /** @throws IncompleteError if it is not; a failure to verify is a different error */
  assertComplete(worker: string, attempt?: AttemptFields, options?: CallOptions): Promise<Decision>;
  /** Evaluates the hooks of a task for an iteration. @throws StopgateError entry.refused */
  evaluate(
    task: string,
    iteration: AttemptFields & { readonly iteration: number },
    options?: CallOptions,
  ): Promise<HookResult>;
};

/** Generous, since checks may be slow. A hold comes on top. */
const timeoutDefaultMs = 600_000;
/** After this, `decide` sends an ordinary request too, and keeps waiting for the fast path's reply. */
const fastPathMs = 2_000;
/** The end of an output matters most, and entries are limited in size (protocol.md §2). */
const outputBytesMax = 32_768;

/** `fastPath` false: this connection uses a private inbox, which the fast path cannot reply to. */
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
    if (!fastPath) return readDecision(await request());
    const fast = await link.attempt(worker, id, body, Math.min(fastPathMs, waitMs / 2));
    try {
      const answer = fast.answer.then((text): unknown => JSON.parse(text));
      return readDecision(await Promise.race([answer, fast.unanswered.then(request)]));
    } finally {
      fast.close();
    }
  };
  const verify: DecisionCalls['verify'] = async (worker, attempt = {}, { timeoutMs = timeoutDefaultMs } = {}) => {
    checkId('worker', worker);
    try {
      const decision = readDecision(await link.request('verify', worker, toRequest(attempt), timeoutMs));
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
      return readDecision(await link.request('probe', worker, toRequest(attempt), timeoutMs));
    },
    verify,
    async verifyTask(task, attempt = {}, { timeoutMs = timeoutDefaultMs } = {}) {
      checkId('task', task);
      try {
        const decision = readDecision(await link.request('verify-task', task, toRequest(attempt), timeoutMs));
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
      return readHookResult(await link.request('evaluate', task, toRequest(iteration), timeoutMs));
    },
  };
}

/** The attempt as it is sent. @throws AppError input.bad, entry.large */
function toRequest(given: AttemptFields): AttemptFields {
  const { output } = given;
  const fields = typeof output === 'string' ? { ...given, output: lastBytes(output, outputBytesMax) } : given;
  checkBytes('request', Buffer.byteLength(JSON.stringify(fields)));
  const parsed = attemptSchema.safeParse(fields);
  if (parsed.success) return fields;
  const issues = toIssues(parsed.error, fields);
  throw new AppError('input.bad', `this is not a stop attempt: ${describeIssues(issues)}`, { issues });
}
