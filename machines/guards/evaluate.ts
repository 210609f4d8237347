/**
 * Evaluates the guards for an open attempt: each once, in order, up to the first that does not pass. The transitions of
 * state `validating` read the results, and the transition taken makes the decision.
 */
import { outcomesIn } from '../policy/checks/evaluate.ts';
import type { Attempt, FailureStreak, JudgedWorker } from './attempt.ts';
import {
  failureGuards,
  type GuardName,
  guardNames,
  isFailureGuard,
  isWorkGuard,
  type Verdict,
  workGuards,
} from './decision.ts';
import type { GuardResult, GuardScope, Ruling } from './guard.ts';
import { guardRows, guards } from './index.ts';
import { type StopOutcome, stateAfter } from './outcome.ts';

/** A worker whose attempt is open. */
export type JudgedAttempt = JudgedWorker & { readonly attempt: Attempt };

export type GuardEvaluation = {
  /** The evaluated guards in order, without `retries` and `stuck`. All but the last have passed. */
  readonly results: readonly EvaluatedGuard[];
  /** The results of `retries` and `stuck`; empty unless `checks` or `hooks` is about to block. */
  readonly failureResults: readonly EvaluatedGuard[];
  /** If set, every verdict shows its `input`, not only that of the deciding guard. */
  readonly showsInputs: boolean;
};
type EvaluatedGuard = { readonly guard: GuardName; readonly result: GuardResult };

const none: readonly EvaluatedGuard[] = Object.freeze([]);

/**
 * Starts at the attempt's current guard: guards that passed before the attempt had to wait are not evaluated again.
 * @param before an evaluation whose last guard counts as passed, because a provided guard overruled it
 */
export function evaluate(
  worker: JudgedAttempt,
  showsInputs: boolean,
  before: GuardEvaluation | undefined,
): GuardEvaluation {
  const last = before?.results.at(-1);
  return last === undefined
    ? evaluateFrom(guardNames.indexOf(worker.attempt.guard), worker, none, showsInputs)
    : evaluateFrom(guardNames.indexOf(last.guard) + 1, worker, before?.results ?? none, showsInputs);
}

/** Tells whether some guards have not been evaluated. */
export const isUnfinished = ({ results }: GuardEvaluation): boolean => results.at(-1)?.guard !== guardNames.at(-1);

function evaluateFrom(
  index: number,
  worker: JudgedAttempt,
  before: readonly EvaluatedGuard[],
  showsInputs: boolean,
): GuardEvaluation {
  const results = [...before];
  const resultOf = (guard: GuardName) => results.find((evaluated) => evaluated.guard === guard)?.result ?? null;
  const scope: GuardScope = { worker, attempt: worker.attempt, resultOf };
  const evaluateGuard = (guard: GuardName): EvaluatedGuard => ({ guard, result: guards[guard](scope) });
  for (let next = index; next < guardNames.length; next += 1) {
    const guard = guardNames[next] as GuardName;
    if (isFailureGuard(guard)) continue;
    const last = evaluateGuard(guard);
    results.push(last);
    if (last.result.kind === 'pass') continue;
    const failureResults = isFailure(last) ? failureGuards.map(evaluateGuard) : none;
    return { results, failureResults, showsInputs };
  }
  return { results, failureResults: none, showsInputs };
}

/** Tells whether `checks` or `hooks` blocks. */
const isFailure = ({ guard, result }: EvaluatedGuard): boolean =>
  isWorkGuard(guard) && result.kind === 'decides' && result.ruling.decision === 'block';

/** Tells whether this guard decides for state `to`. */
export function leadsTo({ results }: GuardEvaluation, guard: GuardName, to: StopOutcome): boolean {
  const last = results.at(-1);
  return last?.guard === guard && decidesFor(last.result, to);
}

/** Tells whether `guard` decides for state `to` in place of a block by `by`. */
export const leadsInsteadTo = (
  evaluation: GuardEvaluation,
  by: GuardName,
  guard: GuardName,
  to: StopOutcome,
): boolean =>
  leadsTo(evaluation, by, 'blocked') &&
  evaluation.failureResults.some((evaluated) => evaluated.guard === guard && decidesFor(evaluated.result, to));

const decidesFor = (result: GuardResult, to: StopOutcome): boolean =>
  result.kind === 'decides' && stateAfter(result.ruling) === to;

/** Tells whether the attempt must stay open at this guard, until an answer or a task arrives. */
export function mustWait({ results }: GuardEvaluation, guard: GuardName): boolean {
  const last = results.at(-1);
  return last?.guard === guard && (last.result.kind === 'awaits' || last.result.kind === 'hold');
}

/** Returns null if the guard was not evaluated. */
export const resultIn = ({ results, failureResults }: GuardEvaluation, guard: GuardName): GuardResult | null =>
  [...results, ...failureResults].find((evaluated) => evaluated.guard === guard)?.result ?? null;

/** Returns the attempt after all guards before `until` passed, with their verdicts and findings. */
export function advanceTo(until: GuardName, from: Attempt, { results, showsInputs }: GuardEvaluation): Attempt {
  // Spread, because `slice` takes ten times as long for a frozen list.
  const attempt: Progress = { ...from, verdicts: [...from.verdicts], guard: until };
  const end = guardNames.indexOf(until);
  for (const { guard, result } of results) {
    if (guardNames.indexOf(guard) >= end) break;
    keep(attempt, guard, result);
    attempt.verdicts.push(passVerdict(guard, result, attempt, showsInputs));
  }
  return attempt;
}

type Progress = { -readonly [Key in keyof Attempt]: Attempt[Key] } & { verdicts: Verdict[] };

/** Adds the result of a guard that does not pass: a verdict with its input, or the awaited check or hold. */
export function stopAt(
  guard: GuardName,
  result: GuardResult,
  from: Attempt,
  verdict: Verdict['verdict'],
  showsInputs: boolean,
): Attempt {
  const attempt: Progress = { ...from, verdicts: [...from.verdicts], guard };
  keep(attempt, guard, result);
  if (result.kind === 'awaits') return { ...attempt, pending: result.check, pendingCount: result.check.number };
  if (result.kind === 'hold') return { ...attempt, isHeld: true };
  const { detail } = result;
  const input = shownInput(result, showsInputs);
  const tookMs = waitedMs(attempt, guard);
  attempt.verdicts.push({ guard, verdict: result.isError ? 'error' : verdict, detail, input, tookMs });
  return attempt;
}

function keep(attempt: Progress, guard: GuardName, { kept }: GuardResult): void {
  if (kept === undefined) return;
  if (kept.findings !== undefined) attempt.findings = kept.findings;
  if (kept.judgedTasks !== undefined) attempt.judgedTasks = kept.judgedTasks;
  // Guard `checks` returns all its feedback each time. Guard `hooks` adds to it.
  if (kept.feedback !== undefined)
    attempt.feedback = guard === 'checks' ? kept.feedback : [...attempt.feedback, ...kept.feedback];
}

function passVerdict(guard: GuardName, result: GuardResult, attempt: Attempt, showsInputs: boolean): Verdict {
  const { detail } = result;
  const input = shownInput(result, showsInputs);
  if (result.isError) return { guard, verdict: 'error', detail, input, tookMs: waitedMs(attempt, guard) };
  if (showsInputs) return { guard, verdict: 'pass', detail, input };
  return result.kind === 'pass' && result.verdict !== undefined ? result.verdict : { guard, verdict: 'pass', detail };
}

/** With `showsInputs`, guard `checks` also shows the outcome of each check. Decisions in the log do not have these. */
const shownInput = ({ input, kept }: GuardResult, showsInputs: boolean): GuardResult['input'] =>
  showsInputs && kept?.findings !== undefined ? { ...input, outcomes: outcomesIn(kept.findings) } : input;

/** Returns how long a guard waited by the log's clock, which a replay reproduces. */
const waitedMs = ({ waitedMs: waited }: Attempt, guard: GuardName): number => (isWorkGuard(guard) ? waited[guard] : 0);

/** Returns the count that a block by this guard increases, or null. */
export const countOf = ({
  decision,
  guard,
}: Pick<Ruling, 'decision'> & { readonly guard: GuardName | null }): 'retryCount' | 'keepAlives' | null =>
  decision === 'block' && guard !== null ? (guardRows[guard].blocksCount ?? null) : null;

/** Returns null, ending a streak of equal failures, once `checks` and `hooks` have passed without an error. */
export function streakAfter(streak: FailureStreak | null, { guard, verdicts }: Attempt): FailureStreak | null {
  const isBehind = workGuards.every((workGuard) => guardNames.indexOf(workGuard) < guardNames.indexOf(guard));
  return isBehind && !verdicts.some((verdict) => isWorkGuard(verdict.guard) && verdict.verdict === 'error')
    ? null
    : streak;
}
