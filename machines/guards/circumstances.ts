/** Shared by checks and hooks: the facts for conditions, waiting for answers, and the prompt of a block. */
import type { CheckResult, Feedback } from '../policy/checks/check-result.ts';
import type { Circumstances } from '../policy/condition.ts';
import { createWork } from '../policy/glob.ts';
import { feedbackLengthMax, reasonLengthMax } from '../values/limits.ts';
import { cutMiddle } from '../values/text.ts';
import { formatDuration } from '../values/time.ts';
import type { Attempt, PendingCheck, TaskFacts } from './attempt.ts';
import type { GuardScope } from './guard.ts';

/** @param task the held task that conditions read; undefined if none is held */
export function circumstancesOf(
  { worker, attempt: { fields } }: GuardScope,
  task: TaskFacts | undefined,
  work = createWork(),
): Circumstances {
  return {
    iteration: task?.iteration?.iteration ?? 0,
    phase: task?.phase ?? null,
    files: fields.files === undefined ? [worker.files] : [worker.files, fields.files],
    filesUnknown: worker.filesUnknown,
    labels: worker.labels,
    work,
  };
}

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

/** Writes the next prompt of a block: the reason, and the details of the feedback. */
export function promptFor(reason: string, feedback: readonly Feedback[]): string {
  const found = feedback.map(({ details }) => describe(details)).filter((text) => text !== '');
  const head = `Not done yet: ${cutMiddle(reason, reasonLengthMax)}. Finish what remains, then stop again.`;
  if (found.length === 0) return head;
  return `${head}\n\n${cutMiddle(found.join('\n'), feedbackLengthMax)}`;
}

function describe(details: unknown): string {
  if (typeof details === 'string') return details;
  return isEmpty(details) ? '' : JSON.stringify(details, null, 1);
}

const isEmpty = (details: unknown) =>
  details === null || details === undefined || (typeof details === 'object' && Object.keys(details).length === 0);
