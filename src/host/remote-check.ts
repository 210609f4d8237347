/** Remote checks and hooks: the request to `stopgate.<fleet>.check.<name>`, and what its reply means (protocol.md §8). */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { toPayload } from './check-question.ts';
import { type HostContext, isRunning, subject } from './context.ts';
import type { RunResult } from './run-request.ts';

/** Any form of reply (protocol.md §8). `retryAfterMs`: when to ask again. */
const replySchema = z.union([
  z.object({ pending: z.literal(true), reason: z.string().optional(), retryAfterMs: z.number().optional() }),
  z.object({ complete: z.boolean(), reason: z.string().optional(), feedback: z.unknown().optional() }),
  z.object({
    action: z.enum(['complete', 'continue', 'escalate']),
    reason: z.string().optional(),
    nextPrompt: z.string().optional(),
    checkpointData: z.unknown().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
]);

/** How a remote check is asked. */
export type RemoteCall = {
  readonly timeoutMs: number;
  /** When the log's clock ends it. */
  readonly deadlineMs: number;
  /** Aborted: nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
  /** It cannot tell yet, and is asked again at `askedAgainMs` of the log's clock. */
  readonly onPending?: (reason: string | null, askedAgainMs: number) => void;
};

/** A check that waits for something else, as a pipeline, should not be asked more often, nor be forgotten. */
const retryMs = { min: 1_000, default: 10_000, max: 600_000 };
/** An answer at the deadline is too late: by then the log's clock has passed it. */
const earlierMsMax = 500;

/**
 * Asks until the check can tell, or its time is up. Once it has said that it cannot tell yet, a moment without a server
 * changes nothing: it may be restarting.
 * @throws AppError service.unreachable: nobody serves it, or no reply in time; check.failed: its server failed
 */
export async function askRemote(
  context: HostContext,
  name: string,
  question: object,
  { timeoutMs, deadlineMs, signal, onPending = () => {} }: RemoteCall,
): Promise<RunResult> {
  const startedMs = performance.now();
  const tookMs = () => Math.round(performance.now() - startedMs);
  const target = subject(context, `check.${name}`);
  const payload = toPayload(question, context.bus.payloadBytesMax());
  const leftMs = () => deadlineMs - Math.min(earlierMsMax, timeoutMs / 10) - context.logClock.now();
  let pending: Pending | null = null;
  for (let waitMs = timeoutMs; waitMs > 0; waitMs = leftMs()) {
    const asked = context.bus.request(target, payload, waitMs);
    const reply = readReply(name, await (pending === null ? asked : asked.catch(awayFor(pending))));
    if (!('pending' in reply)) return { ...reply, tookMs: tookMs() };
    pending = reply;
    const pauseMs = Math.min(Math.max(retryMs.min, reply.retryAfterMs ?? retryMs.default), retryMs.max);
    onPending(reply.reason?.slice(0, reasonLengthMax) ?? null, context.logClock.now() + pauseMs);
    await sleep(Math.min(pauseMs, Math.max(0, leftMs())), undefined, { ref: false, ...(signal && { signal }) }).catch(
      () => {},
    );
    if (signal?.aborted || !isRunning(context)) return { outcome: 'error', reason: 'cancelled', tookMs: tookMs() };
  }
  const reason = pending?.reason === undefined ? 'still pending' : `still pending: ${pending.reason}`;
  return { outcome: 'timeout', reason, tookMs: tookMs() };
}

/** For a view; the result has the whole reason. */
const reasonLengthMax = 500;

/** The reply of a server that is away for a moment: still the last one. */
const awayFor = (pending: Pending) => (error: unknown) => {
  if (error instanceof AppError && error.code === 'service.unreachable') return JSON.stringify(pending);
  throw error;
};

type Pending = { readonly pending: true; readonly reason?: string; readonly retryAfterMs?: number };

function readReply(name: string, text: string): Pending | RunResult {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return { outcome: 'error', reason: `check ${name} replied with invalid JSON` };
  }
  const { data } = replySchema.safeParse(reply);
  if (data === undefined) return { outcome: 'error', reason: `check ${name} replied in an unknown form` };
  if ('pending' in data) return definedIn(data) as Pending;
  if ('complete' in data) {
    const { complete, ...rest } = data;
    return { outcome: complete ? 'pass' : 'fail', ...definedIn(rest) };
  }
  return { outcome: data.action === 'complete' ? 'pass' : 'fail', ...definedIn(data) };
}

const definedIn = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;
