/** Waiting for the answer of a check or hook: its deadline, the start of its timeout, and its result without an answer. */
import type { CheckResult } from '../policy/checks/check-result.ts';
import { formatDuration } from '../values/time.ts';
import type { Attempt, PendingCheck } from './attempt.ts';

/** How long a check waits for a slot on its runner before it is an error (protocol.md §8). */
export const slotTimeoutMs = 600_000;

/** @param timeoutMs time limit for the answer, counted from the request, or on a runner from the start of the check */
export function pendingSince(
  { pendingCount, facts: { nowMs } }: Attempt,
  { name, timeoutMs, onRunner }: { readonly name: string; readonly timeoutMs: number; readonly onRunner: boolean },
) {
  return {
    number: pendingCount + 1,
    name,
    sinceMs: nowMs,
    timeoutMs,
    startedMs: onRunner ? null : nowMs,
    deadlineMs: nowMs + (onRunner ? slotTimeoutMs : timeoutMs),
  };
}

/** Starts the timeout of a pending check. */
export const startPending = (pending: PendingCheck, atMs: number): PendingCheck =>
  pending.startedMs === null ? { ...pending, startedMs: atMs, deadlineMs: atMs + pending.timeoutMs } : pending;

/** Returns the result of a check whose deadline has passed. */
export function expiredResult({ name, startedMs }: PendingCheck, attempt: string): CheckResult {
  if (startedMs !== null) return { attempt, check: name, outcome: 'timeout' };
  const reason = `Check ${name} had no place on its runner within ${formatDuration(slotTimeoutMs)}`;
  return { attempt, check: name, outcome: 'error', reason };
}
