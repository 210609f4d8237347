/**
 * What would have been decided under other policies? From the time at which they come into force, the log is folded
 * twice, under its own policies and under the others, and the decisions are compared. Nothing is run: results of checks
 * are taken from the log, for the same question in the same attempt. Without a result, the decision is reported as
 * unknown; it never counts as a pass.
 *
 * The entries stay the same, because nobody knows what the agent would have done after a different answer.
 */
import type { OwnWorkerEntry, StoredEntry } from '../entries/index.ts';
import { createLogLines, type LogEntry } from '../entries/log-line.ts';
import { copyFleet, createFleet, type Fleet } from '../fleet/fleet.ts';
import { advanceClock, foldEntry } from '../fleet/fold.ts';
import { isKnownAttempt } from '../fleet/known-attempts.ts';
import type { FoldOutcome } from '../fleet/outcome.ts';
import { nextDeadline } from '../fleet/time/due-time.ts';
import type { AwaitedCheck } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { formatIsoTime } from '../values/time.ts';
import type { Replay } from './replay.ts';

/**
 * `at`: the time of the attempt. `after` is null if unknown: the log has no answer of `check`, or if that is null too,
 * the log ends during a hold.
 */
export type Difference = {
  readonly worker: string;
  readonly attempt: string;
  readonly at: string;
  readonly before: Decision;
} & ({ readonly after: Decision } | { readonly after: null; readonly check: string | null });

/** `attempts`: the number of decided attempts that were compared. */
export type WhatIfCounts = { attempts: number; differ: number; unknown: number };

export type WhatIf = Pick<Replay, 'fold' | 'foldMessage' | 'startFrom' | 'firstLines'> & {
  /** The differences found since the last call. */
  readonly take: () => Difference[];
  /** Call it at the end of the log. Attempts that are still open under the other policies become unknown. */
  readonly end: () => void;
  readonly counts: Readonly<WhatIfCounts>;
};

export type WhatIfOptions = {
  /** The policies of the second fold. */
  readonly policies: PolicySet;
  /**
   * When they come into force. Default: with the first entry. Before that, the log is folded only once, or may be
   * replaced by `startFrom`.
   */
  readonly sinceMs?: number;
  /** Only attempts of this worker are compared. */
  readonly worker?: string;
};

export function createWhatIf(options: WhatIfOptions): WhatIf {
  const { policies, sinceMs = Number.NEGATIVE_INFINITY, worker } = options;
  const lines = createLogLines();
  const folds = new Map<string, BothFolds>();
  const counts: WhatIfCounts = { attempts: 0, differ: 0, unknown: 0 };
  const found: Difference[] = [];
  const onPaired = (pair: Pair) => {
    if (pair.before === null || pair.worker !== (worker ?? pair.worker)) return;
    counts.attempts += 1;
    const difference = differenceOf(pair, pair.before);
    if (difference === null) return;
    counts[difference.after === null ? 'unknown' : 'differ'] += 1;
    found.push(difference);
  };
  const add = (before: Fleet): BothFolds => {
    const both: BothFolds = { before, after: null, pairs: new Map(), onPaired };
    folds.set(before.name, both);
    return both;
  };
  const fold = (read: LogEntry | string | null): string | null => {
    if (read === null || typeof read === 'string') return read;
    const both = folds.get(read.fleet) ?? add(createFleet(read.fleet));
    if (read.stored.atMs >= sinceMs) both.after ??= withPolicies(both.before, policies);
    foldInBoth(both, read.stored);
    return null;
  };
  return {
    fold: (line) => fold(lines.readLine(line)),
    foldMessage: (message) => fold(lines.readMessage(message)),
    startFrom: (fleet) => void add(fleet),
    firstLines: lines.firstLines,
    take: () => found.splice(0),
    end() {
      for (const both of folds.values()) endOf(both);
    },
    counts,
  };
}

/** Returns the guard that decided; null if the attempt was superseded, or ended unjudged. */
export const decidingGuard = ({ cause, verdicts }: Decision): string | null =>
  cause === 'superseded' ? null : (verdicts.at(-1)?.guard ?? null);

function differenceOf({ worker, attempt, atMs, after, unknown }: Pair, before: Decision): Difference | null {
  const compared = { worker, attempt, at: formatIsoTime(atMs), before };
  if (unknown !== null || after === null) return { ...compared, after: null, check: unknown };
  return essenceOf(before) === essenceOf(after) ? null : { ...compared, after };
}

/** Decisions that differ only in their texts count as equal. */
const essenceOf = (decision: Decision): string =>
  `${decision.decision} ${decision.action} ${decision.cause} ${decidingGuard(decision)}`;

/** One attempt in both folds, until both have decided it. */
type Pair = {
  readonly worker: string;
  readonly attempt: string;
  readonly atMs: number;
  before: Decision | null;
  after: Decision | null;
  /** The questions of checks under the log's policy, by name and by number (`#2`), and the timeout of each question. */
  readonly questions: Map<string, string>;
  readonly waitedMs: Map<string, number>;
  /** Answers of the log's checks, by question. */
  readonly answers: Map<string, CheckResult>;
  /** The check that the attempt waits for under the other policies. */
  awaited: AwaitedCheck | null;
  /** The first check without an answer in the log. */
  unknown: string | null;
};

type BothFolds = {
  readonly before: Fleet;
  /** Null until the other policies are in force. */
  after: Fleet | null;
  readonly pairs: Map<string, Pair>;
  readonly onPaired: (pair: Pair) => void;
};

/** Copies the fleet under the other policies. `policySeq` is 0, since no entry of the log has set them. */
const withPolicies = (fleet: Fleet, policies: PolicySet): Fleet => ({
  ...copyFleet(fleet),
  policies,
  policySeq: 0,
  policyPinned: true,
});

const keyOf = (worker: string, attempt: string): string => `${worker}:${attempt}`;

function foldInBoth(both: BothFolds, stored: StoredEntry): void {
  const { before, after, pairs } = both;
  const { entry, seq, atMs } = stored;
  const ended = processBefore(both, advanceClock(before, atMs).outcomes);
  if (after === null) {
    foldEntry(before, stored);
    return;
  }
  advanceAfter(both, after, atMs);
  if (entry.area === 'worker' && entry.type === 'stop.attempted') {
    const attempt = entry.data.attempt ?? `seq-${seq}`;
    const isKnown = isKnownAttempt(before.workers.read(entry.id)?.known ?? null, attempt);
    if (!isKnown) pairs.set(keyOf(entry.id, attempt), createPair(entry.id, attempt, atMs));
  }
  // An attempt without a pair began before the other policies came into force, and keeps the log's.
  const isAnswer =
    entry.area === 'ownWorker' && entry.type === 'check.finished' && pairs.has(keyOf(entry.id, entry.data.attempt));
  if (isAnswer) recordAnswer(both, entry);
  ended.push(...processBefore(both, foldEntry(before, stored).outcomes));
  if (!isAnswer) processAfter(both, foldEntry(after, stored).outcomes, false);
  if (isAnswer) settle(both, entry.id, entry.data.attempt);
  for (const pair of ended) settle(both, pair.worker, pair.attempt);
}

function createPair(worker: string, attempt: string, atMs: number): Pair {
  return {
    worker,
    attempt,
    atMs,
    before: null,
    after: null,
    questions: new Map(),
    waitedMs: new Map(),
    answers: new Map(),
    awaited: null,
    unknown: null,
  };
}

/** Processes the outcomes under the log's policies. @returns the attempts that were decided */
function processBefore({ pairs, onPaired }: BothFolds, outcomes: readonly FoldOutcome[]): Pair[] {
  const decided: Pair[] = [];
  for (const outcome of outcomes) {
    const pair = pairOf(pairs, outcome);
    if (pair === undefined) continue;
    if (outcome.kind === 'checkAwaited') {
      const question = questionOf(outcome.check);
      pair.questions.set(outcome.check.name, question);
      pair.questions.set(`#${outcome.check.number}`, question);
      pair.waitedMs.set(question, timeoutOf(outcome.check));
    } else if (outcome.kind === 'decided') {
      pair.before = outcome.decision;
      decided.push(pair);
      finish(pairs, pair, onPaired);
    }
  }
  return decided;
}

/** Processes the outcomes under the other policies. `byClock`: a deadline caused them. */
function processAfter(both: BothFolds, outcomes: readonly FoldOutcome[], byClock: boolean): void {
  const { pairs, onPaired } = both;
  for (const outcome of outcomes) {
    const pair = pairOf(pairs, outcome);
    if (pair === undefined) continue;
    if (byClock && pair.awaited !== null && !waitsNoLonger(pair, pair.awaited)) pair.unknown ??= pair.awaited.name;
    if (outcome.kind === 'checkAwaited') {
      pair.awaited = outcome.check;
      settle(both, pair.worker, pair.attempt);
    } else if (outcome.kind === 'decided') {
      pair.awaited = null;
      pair.after = outcome.decision;
      finish(pairs, pair, onPaired);
    }
  }
}

function pairOf(pairs: BothFolds['pairs'], outcome: FoldOutcome): Pair | undefined {
  if (outcome.kind === 'checkAwaited') return pairs.get(keyOf(outcome.worker, outcome.attempt));
  if (outcome.kind !== 'decided') return undefined;
  return pairs.get(keyOf(outcome.decision.worker, outcome.decision.attempt ?? ''));
}

function finish(pairs: BothFolds['pairs'], pair: Pair, onPaired: BothFolds['onPaired']): void {
  if (pair.before === null || pair.after === null) return;
  pairs.delete(keyOf(pair.worker, pair.attempt));
  onPaired(pair);
}

/** Fires one deadline at a time, so that a check that is asked at one is answered before the next. */
function advanceAfter(both: BothFolds, after: Fleet, toMs: number): void {
  for (;;) {
    const next = nextDeadline(after);
    if (next === null || next.atMs > toMs) break;
    processAfter(both, advanceClock(after, next.atMs).outcomes, true);
  }
  advanceClock(after, toMs);
}

/** Answers the awaited check from the log. If the log has no answer, the attempt is unknown and continues. */
function settle(both: BothFolds, worker: string, attempt: string): void {
  const { after, pairs } = both;
  const pair = pairs.get(keyOf(worker, attempt));
  const check = pair?.awaited;
  if (after === null || pair === undefined || check == null) return;
  const answer = answerTo(pair, check);
  if (answer === null && pair.before === null) return; // The answer may still come.
  if (answer === null && waitsNoLonger(pair, check)) return; // It times out, as it did in the log.
  if (answer === null) pair.unknown ??= check.name;
  // Continue as if the check agreed with the log's decision, because the following entries resulted from that.
  const outcome = pair.before?.decision === 'block' ? 'fail' : 'pass';
  const data: CheckResult = { ...(answer ?? { outcome }), attempt, check: check.name, number: check.number };
  pair.awaited = null;
  const entry: OwnWorkerEntry = { area: 'ownWorker', fleet: after.name, id: worker, type: 'check.finished', data };
  processAfter(both, foldEntry(after, { seq: after.seq, atMs: after.nowMs, entry }).outcomes, false);
}

function recordAnswer({ pairs }: BothFolds, { id, data }: Extract<OwnWorkerEntry, { type: 'check.finished' }>): void {
  const pair = pairs.get(keyOf(id, data.attempt));
  if (pair === undefined) return;
  const question = pair.questions.get(data.number === undefined ? data.check : `#${data.number}`);
  if (question !== undefined && !pair.answers.has(question)) pair.answers.set(question, data);
}

function answerTo(pair: Pair, check: AwaitedCheck): CheckResult | null {
  const answer = pair.answers.get(questionOf(check)) ?? null;
  // With more time, the check might have answered.
  return answer?.outcome === 'timeout' && !waitsNoLonger(pair, check) ? null : answer;
}

/** Tells whether the check waits no longer than it did in the log. If so, no answer there means no answer here. */
const waitsNoLonger = (pair: Pair, check: AwaitedCheck): boolean =>
  timeoutOf(check) <= (pair.waitedMs.get(questionOf(check)) ?? Number.NEGATIVE_INFINITY);

const timeoutOf = ({ deadlineMs, sinceMs }: AwaitedCheck): number => deadlineMs - sinceMs;

/** Identifies what is checked, regardless of the check's name and settings. */
function questionOf(check: AwaitedCheck): string {
  if (check.by === 'hooks') return `hook ${check.key}`;
  const { name: _, base: __, when: ___, onError: ____, timeoutMs: _____, ...question } = check.check;
  return JSON.stringify(question);
}

function endOf({ pairs, onPaired }: BothFolds): void {
  for (const pair of pairs.values()) {
    if (pair.awaited !== null) pair.unknown ??= pair.awaited.name;
    onPaired(pair);
  }
  pairs.clear();
}
