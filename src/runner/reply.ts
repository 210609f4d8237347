/** What a runner's checks have in common: their results, and names in messages. */
import type { CheckReply } from '../host/effects/check-reply.ts';

/** `tookMs`: to 0.1 ms, without the wait for a place. */
export type TimedReply = CheckReply & { readonly tookMs: number };

export const cancelled: CheckReply = { outcome: 'error', reason: 'cancelled' };

/** A name from outside, for a message: quoted and escaped, 200 characters at most. */
export const quote = (name: string) => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);

/** Adds how long `work` takes from now on. */
export async function timed(work: Promise<CheckReply>): Promise<TimedReply> {
  const startedMs = performance.now();
  const reply = await work;
  return { ...reply, tookMs: Math.round((performance.now() - startedMs) * 10) / 10 };
}
