/**
 * Waiting for the answer of a check or hook: its deadline, the start of its timeout, and its result without an answer.
 */
import type { CheckResult } from '../policy/checks/check-result.ts';
import { formatDuration } from '../values/time.ts';
import type { Attempt, AwaitedCheck } from './attempt.ts';

/** How long a check waits for a slot on its runner before it is an error (protocol.md §8). */
export const slotTimeoutMs = 600_000;

/** @param timeoutMs time limit for the answer, counted from the request, or on a runner from the start of the check */
export function awaitedSince(
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

/** Starts the timeout of a check that waited for a slot on its runner. */
export const startTimeout = (check: AwaitedCheck, atMs: number): AwaitedCheck =>
  check.startedMs === null ? { ...check, startedMs: atMs, deadlineMs: atMs + check.timeoutMs } : check;

/** Returns the result of a check whose deadline has passed. */
export function expiredResult({ name, startedMs }: AwaitedCheck, attempt: string): CheckResult {
  if (startedMs !== null) return { attempt, check: name, outcome: 'timeout' };
  const reason = `Check ${name} had no place on its runner within ${formatDuration(slotTimeoutMs)}`;
  return { attempt, check: name, outcome: 'error', reason };
}
