/**
 * What a guard makes of a worker's open attempt, and how far the attempt has come. The chart of `validating` asks the
 * guards one after the other; nothing here knows their order of decision but `guardNames`.
 */
import type { Attempt, FailureStreak, JudgedWorker } from './attempt.ts';
import type { Verdict } from './decision.ts';
import type { GuardResult, Ruling } from './guard.ts';
import { guards } from './index.ts';
import { type GuardName, guardNames } from './names.ts';

/** A worker whose attempt is open. */
export type JudgedAttempt = JudgedWorker & { readonly attempt: Attempt };

/**
 * The results for the context asked last: several rows of the chart ask the same guard of the same context, and a
 * context is never changed in place. They are dropped with the row that is taken, for they hold all of the attempt.
 */
let memo: { readonly worker: JudgedAttempt; readonly results: Partial<Record<GuardName, GuardResult>> } | null = null;

/** @returns what `guard` makes of the attempt now; a pass where it has passed before */
export function resultOf(guard: GuardName, worker: JudgedAttempt): GuardResult {
  if (memo?.worker !== worker) memo = { worker, results: {} };
  const { results } = memo;
  let result = results[guard];
  if (result === undefined) {
    const ask = (other: GuardName) => resultOf(other, worker);
    result = guards[guard]({ worker, attempt: worker.attempt, resultOf: ask });
    results[guard] = result;
  }
  return result;
}

export function dropResults(): void {
  memo = null;
}

let showsInputs = false;

/** While `run` judges, every verdict has its `input`, not only that of a guard that decides: for an explanation. */
export function withInputs<Result>(run: () => Result): Result {
  showsInputs = true;
  try {
    return run();
  } finally {
    showsInputs = false;
  }
}

/** An attempt that had to wait goes on where it stood: what came before is not asked again. */
export const isBehind = (guard: GuardName, { guard: at }: Attempt): boolean =>
  guardNames.indexOf(guard) < guardNames.indexOf(at);

/**
 * The attempt once every guard before `until` has passed, with their verdicts and what they found. A guard that would
 * not pass but was passed over by the chart counts as passed.
 */
export function advanceTo(until: GuardName, worker: JudgedAttempt): Attempt {
  const attempt: Progress = { ...worker.attempt, verdicts: worker.attempt.verdicts.slice() };
  for (const guard of guardNames.slice(guardNames.indexOf(attempt.guard), guardNames.indexOf(until))) {
    if (guard === 'stuck') continue;
    const result = resultOf(guard, worker);
    keep(attempt, guard, result);
    const input = showsInputs ? { input: result.input } : {};
    const shown = { guard, verdict: 'pass' as const, detail: result.detail, ...input };
    attempt.verdicts.push({ ...shown, ...shownIfError(result, attempt, guard) });
  }
  attempt.guard = until;
  return attempt;
}

type Progress = { -readonly [Key in keyof Attempt]: Attempt[Key] } & { verdicts: Verdict[] };

/** Adds what a guard found that does not pass: a verdict with its input, or what it waits for. */
export function stopAt(guard: GuardName, result: GuardResult, from: Attempt, verdict: Verdict['verdict']): Attempt {
  const attempt: Progress = { ...from, verdicts: from.verdicts.slice(), guard };
  keep(attempt, guard, result);
  if (result.kind === 'pending') return { ...attempt, pending: result.check, pendingCount: result.check.number };
  if (result.kind === 'hold') return { ...attempt, isHeld: true };
  const { detail, input } = result;
  const tookMs = waitedMs(attempt, guard);
  attempt.verdicts.push({ guard, verdict: result.isError ? 'error' : verdict, detail, input, tookMs });
  return attempt;
}

function keep(attempt: Progress, guard: GuardName, { kept }: GuardResult): void {
  if (kept === undefined) return;
  if (kept.findings !== undefined) attempt.findings = kept.findings;
  if (kept.checkpoint !== undefined) attempt.checkpoint = kept.checkpoint;
  if (kept.hookRuns !== undefined) attempt.hookRuns = kept.hookRuns;
  // Checks give all their feedback each time; hooks come after them.
  if (kept.feedback !== undefined)
    attempt.feedback = guard === 'checks' ? kept.feedback : [...attempt.feedback, ...kept.feedback];
}

const shownIfError = (result: GuardResult, attempt: Attempt, guard: GuardName): Partial<Verdict> =>
  result.isError ? { verdict: 'error', input: result.input, tookMs: waitedMs(attempt, guard) } : {};

/** In the log's time: a replay says the same. */
const waitedMs = ({ waitedMs: waited }: Attempt, guard: GuardName): number =>
  guard === 'checks' || guard === 'hooks' ? waited[guard] : 0;

/** The work is not done: these blocks count against the policy's retries. */
export const isFailure = ({
  decision,
  guard,
}: Pick<Ruling, 'decision'> & { readonly guard: GuardName | null }): boolean =>
  decision === 'block' && (guard === 'checks' || guard === 'hooks');

/** Guards 8 and 9 are behind: a streak of equal failures ends, unless one of them could not be judged. */
export const streakAfter = (streak: FailureStreak | null, attempt: Attempt): FailureStreak | null =>
  isBehind('hooks', attempt) && !isUnjudged(attempt) ? null : streak;

/** A check or a hook was in error, and its `onError` let that pass. */
const isUnjudged = ({ verdicts }: Pick<Attempt, 'verdicts'>): boolean =>
  verdicts.some(({ guard, verdict }) => verdict === 'error' && (guard === 'checks' || guard === 'hooks'));
