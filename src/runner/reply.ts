/** Helpers for the replies of a runner's checks. */
import type { CheckReply } from '../host/effects/check-reply.ts';

/** `tookMs`: run time, rounded to 0.1 ms, without the time spent waiting for a slot. */
export type TimedReply = CheckReply & { readonly tookMs: number };

export const cancelled: CheckReply = { outcome: 'error', reason: 'cancelled' };

/** Quotes and escapes an untrusted name for a message, cut to 200 characters. */
export const quote = (name: string) => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);

/** Adds the time until `work` resolves. */
export async function timed(work: Promise<CheckReply>): Promise<TimedReply> {
  const startedMs = performance.now();
  const reply = await work;
  return { ...reply, tookMs: Math.round((performance.now() - startedMs) * 10) / 10 };
}
