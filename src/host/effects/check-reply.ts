/**
 * What a program replies to a question about the work (protocol.md §8): a process that serves a remote check over NATS, and
 * a command that speaks JSON. A reply may also say that there is no result yet.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { CheckResult, UsageReport } from '../../../machines/index.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';

/** The result of a check. `usage`: what the program that judged says it used. */
export type RunResult = Omit<CheckResult, 'attempt' | 'check'> & { readonly usage?: UsageReport | undefined };

/** A result, or `pending`: there is none yet, and the check is to be asked again after `retryAfterMs` (default 10 s). */
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
    return { outcome: 'pending', ...definedIn(rest) };
  }
  if ('complete' in data) {
    const { complete, ...rest } = data;
    return { outcome: complete ? 'pass' : 'fail', ...definedIn(rest) };
  }
  return { outcome: data.action === 'complete' ? 'pass' : 'fail', ...definedIn(data) };
}

/** Leaves out the fields that are undefined. */
export const definedIn = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** A check that waits for something else, such as a pipeline, should neither be asked more often nor be forgotten. */
const retryMs = { min: 1_000, default: 10_000, max: 600_000 };

/** The reason of a pending check is shown in views, which have no room for more. The result has all of it. */
const reasonLengthMax = 500;

export type Asking = {
  readonly lifecycle: Pick<Lifecycle, 'isRunning'>;
  readonly logClock: Pick<LogClock, 'now'>;
  /** Milliseconds until the check's time is up. */
  readonly leftMs: () => number;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** The check has no result yet, and is asked again at `askedAgainMs` of the log's clock. */
  readonly onPending: (reason: string | null, askedAgainMs: number) => void;
};

/**
 * Asks a check again and again while it is pending, until it has a result or its time is up.
 * @param firstMs how long the first question may take
 * @param ask asks once; gets the last pending reply. Null: cancelled
 */
export async function askUntilResult(
  { lifecycle, logClock, leftMs, signal, onPending }: Asking,
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
