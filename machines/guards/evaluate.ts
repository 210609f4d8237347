/** Evaluates the guards of an attempt, up to the first that decides. An attempt that had to wait goes on where it stood. */

import type { Attempt, FailureStreak, JudgedWorker } from './attempt.ts';
import type { Verdict } from './decision.ts';
import type { GuardResult, Ruling } from './guard.ts';
import { guards } from './index.ts';
import { type GuardName, guardNames } from './names.ts';
import { extendStreak } from './stuck.ts';

export type Evaluated = {
  /** How far the attempt has come; it is still open where `ruling` is null. */
  readonly attempt: Attempt;
  readonly ruling: (Ruling & { readonly guard: GuardName }) | null;
  /** The worker's, one longer where checks or hooks would block for the same reason again. */
  readonly failureStreak: FailureStreak | null;
};

/** Milliseconds on a stopwatch, for `tookMs` alone. */
export type Stopwatch = () => number;

export function evaluateGuards(worker: JudgedWorker, from: Attempt, stopwatch: Stopwatch): Evaluated {
  // One copy for the whole way; the guards read it as it grows.
  const attempt: Progress = { ...from, verdicts: from.verdicts.slice() };
  if (from.isHeld) resumeHeld(attempt);
  for (let index = guardNames.indexOf(attempt.guard); index < guardNames.length; index += 1) {
    const guard = guardNames[index] as GuardName;
    if (guard === 'stuck') continue;
    const startedMs = stopwatch();
    const result = guards[guard]({ worker, attempt });
    const tookMs = waitedMs(attempt, guard) + roundToMicros(stopwatch() - startedMs);
    keep(attempt, guard, result);
    if (result.kind === 'pending' || result.kind === 'hold')
      return { attempt, ruling: null, failureStreak: worker.failureStreak };
    attempt.verdicts.push(verdictOf(guard, result, tookMs));
    if (result.kind !== 'decides') continue;
    const ruling = { guard, ...result.ruling };
    return isFailure(ruling)
      ? blockOrEscalate(worker, attempt, ruling)
      : { attempt, ruling, failureStreak: worker.failureStreak };
  }
  throw new Error('guard "done" always decides');
}

type Progress = { -readonly [Key in keyof Attempt]: Attempt[Key] } & { verdicts: Verdict[] };
type GuardRuling = Ruling & { readonly guard: GuardName };

/** The work is not done: these blocks count against the policy's retries. */
export const isFailure = ({
  decision,
  guard,
}: Pick<Ruling, 'decision'> & { readonly guard: GuardName | null }): boolean =>
  decision === 'block' && (guard === 'checks' || guard === 'hooks');

function blockOrEscalate(worker: JudgedWorker, attempt: Progress, ruling: GuardRuling): Evaluated {
  const failureStreak = extendStreak(worker.failureStreak, ruling.reason);
  const result = guards.stuck({ worker, attempt });
  if (result.kind !== 'decides') return { attempt, ruling, failureStreak };
  attempt.verdicts.push(verdictOf('stuck', result, 0));
  return { attempt, ruling: { guard: 'stuck', ...result.ruling }, failureStreak };
}

function keep(attempt: Progress, guard: GuardName, result: GuardResult): void {
  attempt.guard = guard;
  attempt.pending = result.kind === 'pending' ? result.check : null;
  attempt.pendingCount = attempt.pending?.number ?? attempt.pendingCount;
  attempt.isHeld = result.kind === 'hold';
  attempt.checksPassed ||= guard === 'pending';
  const { kept } = result;
  if (kept === undefined) return;
  if (kept.findings !== undefined) attempt.findings = kept.findings;
  if (kept.checkpoint !== undefined) attempt.checkpoint = kept.checkpoint;
  if (kept.hookRuns !== undefined) attempt.hookRuns = kept.hookRuns;
  // Checks give all their feedback each time; hooks come after them.
  if (kept.feedback !== undefined)
    attempt.feedback = guard === 'checks' ? kept.feedback : [...attempt.feedback, ...kept.feedback];
}

/** A held attempt sees the tasks of the moment first, then the clock. */
function resumeHeld(attempt: Progress): void {
  attempt.guard = 'pending';
  attempt.verdicts = attempt.verdicts.filter((it) => it.guard !== 'pending');
}

function verdictOf(guard: GuardName, result: GuardResult, tookMs: number): Verdict {
  const verdict = result.isError ? 'error' : result.kind === 'decides' ? result.ruling.decision : 'pass';
  return { guard, verdict, detail: result.detail, input: result.input, tookMs };
}

/** Answers from outside count as the guard's own time. */
const waitedMs = ({ pending, facts }: Attempt, guard: GuardName): number =>
  pending?.by === guard ? facts.nowMs - pending.sinceMs : 0;

const roundToMicros = (ms: number): number => Math.round(ms * 1_000) / 1_000;
