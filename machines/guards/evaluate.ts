/**
 * The result of a guard for a worker's open attempt, and how far the attempt has come. The chart of `validating` asks
 * the guards one after the other; only `guardNames` defines their order.
 */
import type { Attempt, FailureStreak, JudgedWorker } from './attempt.ts';
import { type GuardName, guardNames, type Verdict } from './decision.ts';
import type { GuardResult, GuardScope, Ruling } from './guard.ts';
import { guards } from './index.ts';

/** A worker whose attempt is open. */
export type JudgedAttempt = JudgedWorker & { readonly attempt: Attempt };

/**
 * The results for the last context: several transitions of the chart evaluate the same guard for the same context, and a
 * context is never changed in place. They are dropped when a transition is taken, since they hold the whole attempt.
 */
let memo: Memo | null = null;
type Memo = {
  readonly worker: JudgedAttempt;
  readonly scope: GuardScope;
  /** The place of the guard at which the attempt stands: those before it have passed. */
  readonly from: number;
  /** By the guard's place. */
  readonly results: (GuardResult | undefined)[];
};

/** The result of `guard` for the attempt now, evaluated at most once for each context. */
export const resultOf = (guard: GuardName, worker: JudgedAttempt): GuardResult =>
  resultAt(memoFor(worker), places[guard]);

/** The same by the guard's place. Null: it passed before the attempt had to wait, and is not asked again. */
export function resultAhead(place: number, worker: JudgedAttempt): GuardResult | null {
  const current = memoFor(worker);
  return place < current.from ? null : resultAt(current, place);
}

function resultAt({ results, scope }: Memo, place: number): GuardResult {
  const known = results[place];
  if (known !== undefined) return known;
  const result = guards[guardNames[place] as GuardName](scope);
  results[place] = result;
  return result;
}

function memoFor(worker: JudgedAttempt): Memo {
  if (memo?.worker !== worker) memo = memoOf(worker);
  return memo;
}

const memoOf = (worker: JudgedAttempt): Memo => ({
  worker,
  scope: { worker, attempt: worker.attempt, resultOf: (other) => resultOf(other, worker) },
  from: places[worker.attempt.guard],
  results: new Array(guardNames.length),
});

const places = Object.fromEntries(guardNames.map((guard, index) => [guard, index])) as Record<GuardName, number>;

/** The place in `guardNames`: a row of the chart finds it once, since a look by name takes longer than the row itself. */
export const placeOf = (guard: GuardName): number => places[guard];

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
const isBehind = (guard: GuardName, { guard: at }: Attempt): boolean => places[guard] < places[at];

/**
 * The attempt once every guard before `until` has passed, with their verdicts and what they found. A guard that would
 * not pass but was passed over by the chart counts as passed.
 */
export function advanceTo(until: GuardName, worker: JudgedAttempt): Attempt {
  // Not `slice`, which takes ten times as long for a frozen list.
  const attempt: Progress = { ...worker.attempt, verdicts: [...worker.attempt.verdicts] };
  const end = places[until];
  for (let index = places[attempt.guard]; index < end; index += 1) {
    const guard = guardNames[index] as GuardName;
    if (guard === 'retries' || guard === 'stuck') continue;
    const result = resultOf(guard, worker);
    keep(attempt, guard, result);
    attempt.verdicts.push(result.isError ? errorVerdict(result, attempt, guard) : passVerdict(result, guard));
  }
  attempt.guard = until;
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

const errorVerdict = ({ detail, input }: GuardResult, attempt: Attempt, guard: GuardName): Verdict => ({
  guard,
  verdict: 'error',
  detail,
  input,
  tookMs: waitedMs(attempt, guard),
});

/** The verdicts of each guard by detail, since nearly all stops find the same. */
const passVerdicts = new Map<GuardName, Map<string, Verdict>>(guardNames.map((guard) => [guard, new Map()]));
/** The number of details kept of one guard: they may name a queue or a count, and agents choose some of them. */
const passVerdictsMax = 100;
const sharedDetailMax = 64;

function passVerdict({ detail, input }: GuardResult, guard: GuardName): Verdict {
  if (showsInputs) return { guard, verdict: 'pass', detail, input };
  const known = passVerdicts.get(guard) as Map<string, Verdict>;
  const found = known.get(detail);
  if (found !== undefined) return found;
  const made: Verdict = Object.freeze({ guard, verdict: 'pass', detail });
  if (known.size >= passVerdictsMax) known.clear();
  if (detail.length <= sharedDetailMax) known.set(detail, made);
  return made;
}

/** Returns how long a guard waited by the log's clock, so that a replay gives the same. */
const waitedMs = ({ waitedMs: waited }: Attempt, guard: GuardName): number =>
  guard === 'checks' || guard === 'hooks' ? waited[guard] : 0;

/** The work is not done: these blocks count against the policy's retries. */
export const isFailure = ({
  decision,
  guard,
}: Pick<Ruling, 'decision'> & { readonly guard: GuardName | null }): boolean =>
  decision === 'block' && (guard === 'checks' || guard === 'hooks');

/** `checks` and `hooks` are behind: a streak of equal failures ends, unless one of them could not be judged. */
export const streakAfter = (streak: FailureStreak | null, attempt: Attempt): FailureStreak | null =>
  isBehind('hooks', attempt) && !isUnjudged(attempt) ? null : streak;

/** A check or a hook was in error, and its `onError` let that pass. */
const isUnjudged = ({ verdicts }: Pick<Attempt, 'verdicts'>): boolean =>
  verdicts.some(({ guard, verdict }) => verdict === 'error' && (guard === 'checks' || guard === 'hooks'));
