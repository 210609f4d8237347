/**
 * Reads the reply of a check (protocol.md §8): from a process that serves a remote check over NATS, or from a command
 * that speaks JSON. A reply may also be `pending`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { CheckResult, UsageReport } from '../../../machines/index.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';

/** The result of a check. `usage` is what the check reports to have used, such as tokens of a model. */
export type RunResult = Omit<CheckResult, 'attempt' | 'check'> & { readonly usage?: UsageReport | undefined };

/** A result, or `pending`: no result yet, ask again after `retryAfterMs` (default 10 s). */
export type CheckReply = Omit<RunResult, 'outcome'> & {
  readonly outcome: RunResult['outcome'] | 'pending';
  readonly retryAfterMs?: number | undefined;
};

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

/** Returns null for a value in no known form. */
export function readCheckReply(value: unknown): CheckReply | null {
  const { data } = replySchema.safeParse(value);
  if (data === undefined) return null;
  if ('pending' in data) {
    const { pending: _, ...rest } = data;
    return { outcome: 'pending', ...omitUndefined(rest) };
  }
  if ('complete' in data) {
    const { complete, ...rest } = data;
    return { outcome: complete ? 'pass' : 'fail', ...omitUndefined(rest) };
  }
  return { outcome: data.action === 'complete' ? 'pass' : 'fail', ...omitUndefined(data) };
}

/** Leaves out the fields that are undefined. */
export const omitUndefined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Limits how often a pending check is asked again. */
const retryMs = { min: 1_000, default: 10_000, max: 600_000 };

/** Views show at most this much of a pending check's reason. The final result keeps all of it. */
const reasonLengthMax = 500;

export type PollOptions = {
  readonly lifecycle: Pick<Lifecycle, 'isRunning'>;
  readonly logClock: Pick<LogClock, 'now'>;
  /** Returns the milliseconds until the check's timeout. */
  readonly leftMs: () => number;
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal;
  /** Called when the check is pending. It is asked again at `askedAgainMs` of the log's clock. */
  readonly onPending: (reason: string | null, askedAgainMs: number) => void;
};

/**
 * Asks a check repeatedly while it is pending, until it has a result or times out.
 * @param firstMs timeout of the first question
 * @param ask asks once; receives the last pending reply, and returns null if cancelled
 */
export async function askUntilResult(
  { lifecycle, logClock, leftMs, signal, onPending }: PollOptions,
  firstMs: number,
  ask: (waitMs: number, last: CheckReply | null) => Promise<CheckReply | null>,
): Promise<RunResult> {
  const startedMs = performance.now();
  const tookMs = () => Math.round(performance.now() - startedMs);
  let pending: CheckReply | null = null;
  for (let waitMs = firstMs; waitMs > 0; waitMs = leftMs()) {
    const reply = await ask(waitMs, pending);
    if (reply === null) return { outcome: 'error', reason: 'cancelled', tookMs: tookMs() };
    if (reply.outcome !== 'pending') return { tookMs: tookMs(), ...(reply as RunResult) };
    pending = reply;
    const pauseMs = Math.min(Math.max(retryMs.min, reply.retryAfterMs ?? retryMs.default), retryMs.max);
    onPending(reply.reason?.slice(0, reasonLengthMax) ?? null, logClock.now() + pauseMs);
    await sleep(Math.min(pauseMs, Math.max(0, leftMs())), undefined, { ref: false, signal }).catch(() => {});
    if (signal.aborted || !lifecycle.isRunning()) return { outcome: 'error', reason: 'cancelled', tookMs: tookMs() };
  }
  const reason = pending?.reason === undefined ? 'still pending' : `still pending: ${pending.reason}`;
  return { outcome: 'timeout', reason, tookMs: tookMs() };
}
