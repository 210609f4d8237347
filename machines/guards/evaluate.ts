/**
 * Evaluates the guards for an open attempt: once each, in their order, up to the first that does not pass. The rows of
 * the chart of `validating` read the result, and the row that is taken makes the decision from it.
 */
import type { Attempt, FailureStreak, JudgedWorker } from './attempt.ts';
import {
  type FailureGuard,
  failureGuards,
  type GuardName,
  guardNames,
  isWorkGuard,
  type Verdict,
  workGuards,
} from './decision.ts';
import type { GuardResult, GuardScope, Ruling } from './guard.ts';
import { guardRows, guards } from './index.ts';
import { type StopOutcome, stateAfter } from './outcome.ts';

/** A worker whose attempt is open. */
export type JudgedAttempt = JudgedWorker & { readonly attempt: Attempt };

export type Evaluation = {
  /** The guards that were asked, in order, without `retries` and `stuck`. All but the last have passed. */
  readonly asked: readonly Asked[];
  /** What `retries` and `stuck` say of a block by `checks` or `hooks`; empty if the last guard is no such block. */
  readonly instead: readonly Asked[];
  /** Every verdict shows its `input`, not only that of a guard that decides: for an explanation. */
  readonly showsInputs: boolean;
};
type Asked = { readonly guard: GuardName; readonly result: GuardResult };

const none: readonly Asked[] = Object.freeze([]);

/**
 * Begins where the attempt stands: guards that passed before it had to wait are not asked again.
 * @param before an evaluation whose last guard counts as passed, since a provided guard overruled it
 */
export function evaluate(worker: JudgedAttempt, showsInputs: boolean, before: Evaluation | undefined): Evaluation {
  const last = before?.asked.at(-1);
  return last === undefined
    ? askFrom(guardNames.indexOf(worker.attempt.guard), worker, none, showsInputs)
    : askFrom(guardNames.indexOf(last.guard) + 1, worker, before?.asked ?? none, showsInputs);
}

/** Tells whether there is a guard that has not been asked. */
export const isUnfinished = ({ asked }: Evaluation): boolean => asked.at(-1)?.guard !== guardNames.at(-1);

function askFrom(index: number, worker: JudgedAttempt, before: readonly Asked[], showsInputs: boolean): Evaluation {
  const asked = [...before];
  const resultOf = (guard: GuardName) => asked.find((it) => it.guard === guard)?.result ?? null;
  const scope: GuardScope = { worker, attempt: worker.attempt, resultOf };
  const ask = (guard: GuardName): Asked => ({ guard, result: guards[guard](scope) });
  for (let next = index; next < guardNames.length; next += 1) {
    const guard = guardNames[next] as GuardName;
    if (isFailureGuard(guard)) continue;
    const last = ask(guard);
    asked.push(last);
    if (last.result.kind === 'pass') continue;
    const instead = isFailure(last) ? failureGuards.map(ask) : none;
    return { asked, instead, showsInputs };
  }
  return { asked, instead: none, showsInputs };
}

const isFailureGuard = (guard: GuardName): guard is FailureGuard => guard === 'retries' || guard === 'stuck';

/** `checks` or `hooks` says that the work is not done. */
const isFailure = ({ guard, result }: Asked): boolean =>
  isWorkGuard(guard) && result.kind === 'decides' && result.ruling.decision === 'block';

/** Tells whether this guard decides, and for state `to`. */
export function leadsTo({ asked }: Evaluation, guard: GuardName, to: StopOutcome): boolean {
  const last = asked.at(-1);
  return last?.guard === guard && decidesFor(last.result, to);
}

/** Tells whether `guard` decides for state `to` in place of a block by `by`. */
export const leadsInsteadTo = (evaluation: Evaluation, by: GuardName, guard: GuardName, to: StopOutcome): boolean =>
  leadsTo(evaluation, by, 'blocked') &&
  evaluation.instead.some((it) => it.guard === guard && decidesFor(it.result, to));

const decidesFor = (result: GuardResult, to: StopOutcome): boolean =>
  result.kind === 'decides' && stateAfter(result.ruling) === to;

/** Tells whether the attempt must stay open at this guard, for an answer or for a task. */
export function mustWait({ asked }: Evaluation, guard: GuardName): boolean {
  const last = asked.at(-1);
  return last?.guard === guard && (last.result.kind === 'pending' || last.result.kind === 'hold');
}

/** Returns null if the guard was not asked. */
export const resultIn = ({ asked, instead }: Evaluation, guard: GuardName): GuardResult | null =>
  (asked.find((it) => it.guard === guard) ?? instead.find((it) => it.guard === guard))?.result ?? null;

/** The attempt once every guard before `until` has passed, with their verdicts and what they found. */
export function advanceTo(until: GuardName, from: Attempt, { asked, showsInputs }: Evaluation): Attempt {
  // Not `slice`, which takes ten times as long for a frozen list.
  const attempt: Progress = { ...from, verdicts: [...from.verdicts], guard: until };
  const end = guardNames.indexOf(until);
  for (const { guard, result } of asked) {
    if (guardNames.indexOf(guard) >= end) break;
    keep(attempt, guard, result);
    attempt.verdicts.push(passVerdict(guard, result, attempt, showsInputs));
  }
  return attempt;
}

type Progress = { -readonly [Key in keyof Attempt]: Attempt[Key] } & { verdicts: Verdict[] };

/** Adds what a guard found that does not pass: a verdict with its input, or what it waits for. */
export function stopAt(guard: GuardName, result: GuardResult, from: Attempt, verdict: Verdict['verdict']): Attempt {
  const attempt: Progress = { ...from, verdicts: [...from.verdicts], guard };
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
  if (kept.judgedTasks !== undefined) attempt.judgedTasks = kept.judgedTasks;
  // Checks give all their feedback each time; hooks come after them.
  if (kept.feedback !== undefined)
    attempt.feedback = guard === 'checks' ? kept.feedback : [...attempt.feedback, ...kept.feedback];
}

function passVerdict(guard: GuardName, result: GuardResult, attempt: Attempt, showsInputs: boolean): Verdict {
  const { detail, input } = result;
  if (result.isError) return { guard, verdict: 'error', detail, input, tookMs: waitedMs(attempt, guard) };
  if (showsInputs) return { guard, verdict: 'pass', detail, input };
  return result.kind === 'pass' && result.verdict !== undefined ? result.verdict : { guard, verdict: 'pass', detail };
}

/** Returns how long a guard waited by the log's clock, so that a replay gives the same. */
const waitedMs = ({ waitedMs: waited }: Attempt, guard: GuardName): number => (isWorkGuard(guard) ? waited[guard] : 0);

/** The count that a block by this guard increases; null: the stop is not blocked, or by no guard. */
export const countOf = ({
  decision,
  guard,
}: Pick<Ruling, 'decision'> & { readonly guard: GuardName | null }): 'retryCount' | 'keepAlives' | null =>
  decision === 'block' && guard !== null ? (guardRows[guard].blocksCount ?? null) : null;

/** `checks` and `hooks` are behind: a streak of equal failures ends, unless one of them could not be judged. */
export function streakAfter(streak: FailureStreak | null, { guard, verdicts }: Attempt): FailureStreak | null {
  const isBehind = workGuards.every((it) => guardNames.indexOf(it) < guardNames.indexOf(guard));
  return isBehind && !verdicts.some((it) => isWorkGuard(it.guard) && it.verdict === 'error') ? null : streak;
}
