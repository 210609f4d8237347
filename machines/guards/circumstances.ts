/** What checks and hooks have in common: the circumstances that conditions look at, and how they wait for an answer. */
import type { Circumstances } from '../policy/condition.ts';
import type { Attempt } from './attempt.ts';
import type { GuardScope } from './guard.ts';

export function circumstancesOf({ worker, attempt: { facts, fields } }: GuardScope): Circumstances {
  const reported = fields.files ?? [];
  return {
    iteration: facts.task?.iteration?.iteration ?? 0,
    phase: facts.task?.phase ?? null,
    files: reported.length === 0 ? worker.files : [...new Set([...worker.files, ...reported])],
    labels: worker.labels,
  };
}

export function pendingSince({ pendingCount, facts }: Attempt, name: string, timeoutMs: number) {
  return { number: pendingCount + 1, name, sinceMs: facts.nowMs, deadlineMs: facts.nowMs + timeoutMs };
}
