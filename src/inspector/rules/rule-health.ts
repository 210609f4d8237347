/**
 * Counts how each check of each policy has done, and names what deserves a look. A projection beside the fold, which
 * keeps nothing of past decisions: it reads the decisions that a fold makes, with what each check found.
 */

import { checkOrigins } from '../../../machines/fleet/policies.ts';
import {
  type CheckResult,
  type Decision,
  decidingGuard,
  type Fleet,
  type FoldOutcome,
  formatIsoTime,
  readEntry,
} from '../../../machines/index.ts';
import { leavesOf } from '../../../machines/policy/checks/form.ts';
import { isByPerson } from '../../../machines/worker/changes.ts';
import { foldMessage } from '../../host/fold/fold-message.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import { setNewest } from '../../set-newest.ts';
import { addDuration, type Durations, quantileOf } from '../statistics/buckets.ts';
import { createFlakiness } from '../statistics/flakiness.ts';
import type { RuleHealth, RuleLook, RulesReport } from './rules-report.ts';

export type RuleCounts = {
  /**
   * Folds an entry, and counts it if it was stored at or after `sinceMs`. The fleet must show the inputs of guards.
   */
  fold(fleet: Fleet, message: LogMessage, sinceMs: number): void;
  /** Reports on the checks of the policies that the fleet has now. */
  report(fleet: Fleet, sinceMs: number): RulesReport;
};

/** A policy set has at most 256 checks; this leaves room for those of earlier sets. The longest unused are dropped. */
const rulesMax = 4_096;
/** Workers with an open attempt or a block that nobody has answered; more rarely work at the same time. */
const workersMax = 5_000;
/** Answers kept of one open attempt: a policy set cannot have more checks. */
const answersMax = 256;

type Counts = {
  runs: number;
  passes: number;
  failures: number;
  errors: number;
  blocks: number;
  overturned: number;
  differing: number;
  readonly durations: Durations;
  lastFailure: RuleHealth['lastFailure'];
};
/** What a worker's open attempt was answered, and which checks have blocked it since it passed or was prompted. */
type Seen = { answers: Answer[]; readonly blocked: Map<string, number> };
type Answer = {
  readonly attempt: string;
  readonly check: string;
  readonly tookMs: number | null;
  readonly differs: boolean;
};

const decoder = new TextDecoder();

export function createRuleCounts(): RuleCounts {
  const rules = new Map<string, Counts>();
  const workers = new Map<string, Seen>();
  const flakiness = createFlakiness();
  let decisions = 0;
  const countsOf = (key: string): Counts => {
    const counts = rules.get(key) ?? newCounts();
    setNewest(rules, key, counts, rulesMax);
    return counts;
  };
  const seenOf = (worker: string): Seen => {
    const seen = workers.get(worker) ?? { answers: [], blocked: new Map() };
    setNewest(workers, worker, seen, workersMax);
    return seen;
  };

  function answered(worker: string, atMs: number, result: CheckResult, origin: Origin): void {
    const isJudged = result.outcome === 'pass' || result.outcome === 'fail';
    const pair = isJudged ? flakiness.result(worker, { ...result, check: keyOf(origin) }, atMs) : null;
    const { attempt, check, tookMs = null } = result;
    const seen = seenOf(worker);
    seen.answers = [...seen.answers, { attempt, check, tookMs, differs: pair?.differs === true }].slice(-answersMax);
  }

  function decided(fleet: Fleet, decision: Decision): void {
    const seen = seenOf(decision.worker);
    const answers = seen.answers.filter(({ attempt }) => attempt === decision.attempt);
    seen.answers = [];
    const outcomes = outcomesOf(decision);
    if (outcomes === null || decision.cause === 'superseded') return;
    decisions += 1;
    const originOf = readOrigins(fleet, { ...decision, policy: decision.policy.name });
    const isBlock = decision.decision === 'block' && decidingGuard(decision) === 'checks';
    for (const [check, outcome] of Object.entries(outcomes)) {
      if (outcome === 'skip') continue;
      const origin = originOf(check);
      const key = keyOf(origin);
      const counts = countsOf(key);
      const message = decision.feedback.find((item) => item.check === check)?.message;
      counts.runs += 1;
      if (outcome === 'pass') counts.passes += 1;
      else if (outcome === 'error') counts.errors += 1;
      else {
        counts.failures += 1;
        const { worker, attempt, at } = decision;
        counts.lastFailure = { at, worker, attempt: attempt ?? '', reason: message ?? '' };
      }
      for (const answer of answers.filter((each) => each.check === check)) {
        if (answer.tookMs !== null) addDuration(counts.durations, answer.tookMs);
        if (answer.differs) counts.differing += 1;
      }
      const blocks = outcome === 'fail' || blocksOnError(fleet, origin);
      // Without feedback it is a member of a group that passed.
      if (!isBlock || !blocks || message === undefined || outcome === 'warn') continue;
      counts.blocks += 1;
      seen.blocked.set(key, (seen.blocked.get(key) ?? 0) + 1);
    }
    if (decision.cause === 'complete') seen.blocked.clear();
  }

  /** A person let the worker stop although checks had blocked it. */
  function overturned(worker: string): void {
    const { blocked } = seenOf(worker);
    for (const [key, times] of blocked) countsOf(key).overturned += times;
    blocked.clear();
  }

  return {
    fold(fleet, message, sinceMs) {
      const { outcomes } = foldMessage(fleet, message);
      if (message.atMs < sinceMs) return;
      const read = readEntry(message.subject, decoder.decode(message.data), message.data.length);
      const entry = read !== null && 'data' in read ? read : null;
      const isRefused = outcomes.some(({ kind }) => kind === 'refused');
      const decisions = decisionsIn(outcomes);
      if (entry?.type === 'check.finished' && entry.area === 'ownWorker') {
        const { id: worker, data } = entry;
        const originOf = readOrigins(fleet, judgedBy(fleet, worker, decisions));
        answered(worker, message.atMs, data, originOf(data.check));
      }
      for (const decision of decisions) decided(fleet, decision);
      if (entry === null || (entry.area !== 'worker' && entry.area !== 'ownWorker') || isRefused) return;
      switch (entry.type) {
        case 'worker.paused':
        case 'worker.retired':
          overturned(entry.id);
          break;
        case 'escalation.resolved':
          if (entry.data.verdict === 'stop') overturned(entry.id);
          break;
        case 'prompt.submitted':
          if (isByPerson(entry.data)) workers.get(entry.id)?.blocked.clear();
          break;
      }
      if (entry.area !== 'worker') return;
      flakiness.entry(entry.id, entry.type, message.atMs, () => ('tool' in entry.data ? entry.data.tool : null));
    },
    report: (fleet, sinceMs) => ({
      since: formatIsoTime(sinceMs),
      decisions,
      rules: [...fleet.policies.policies].flatMap(([policy, { checks }]) =>
        leavesOf(checks).map(({ name, kind }): RuleHealth => {
          const counts = rules.get(keyOf({ policy, check: name })) ?? newCounts();
          const { durations, differing, ...shown } = counts;
          return { policy, check: name, kind, ...shown, medianMs: quantileOf(durations, 0.5), look: lookOf(counts) };
        }),
      ),
    }),
  };
}

const newCounts = (): Counts => ({
  runs: 0,
  passes: 0,
  failures: 0,
  errors: 0,
  blocks: 0,
  overturned: 0,
  differing: 0,
  durations: new Map(),
  lastFailure: null,
});

/** A policy, and the name of one of its checks there. */
type Origin = { readonly policy: string; readonly check: string };

/** Names contain no line feed. */
const keyOf = ({ policy, check }: Origin): string => `${policy}\n${check}`;

/** What an attempt is or was judged by: the policy of the task claimed last, and all held tasks. */
type Judged = { readonly worker: string; readonly tasks: readonly string[]; readonly policy: string };

/** A decision may complete the tasks, so its own list comes first. */
function judgedBy(fleet: Fleet, worker: string, decisions: readonly Decision[]): Judged {
  const decision = decisions.find((each) => each.worker === worker);
  if (decision !== undefined) return { worker, tasks: decision.tasks, policy: decision.policy.name };
  const context = fleet.workers.get(worker)?.snapshot.context.worker;
  return { worker, tasks: context?.tasks ?? [], policy: context?.attempt?.inForce.name ?? 'default' };
}

/**
 * Finds the policy that a check of an attempt comes from. Held tasks may name different policies, whose checks are one
 * list in the attempt, with other names. An attempt keeps the policies that it began with. If others have been set since,
 * a name may not be found, and counts for the policy of the task claimed last.
 */
function readOrigins(fleet: Fleet, { worker, tasks, policy }: Judged): (check: string) => Origin {
  const context = tasks.length < 2 ? undefined : fleet.workers.get(worker)?.snapshot.context.worker;
  const found = context === undefined ? [] : [...checkOrigins(fleet, { ...context, tasks })];
  const origins = new Map(found.some(([, origin]) => origin.policy === policy) ? found : []);
  return (check) => {
    const origin = origins.get(check);
    return origin === undefined ? { policy, check } : { policy: origin.policy, check: origin.check.name };
  };
}

const blocksOnError = ({ policies }: Fleet, { policy, check }: Origin): boolean =>
  leavesOf(policies.policies.get(policy)?.checks ?? []).some(
    ({ name, onError }) => name === check && onError === 'block',
  );

const decisionsIn = (outcomes: readonly FoldOutcome[]): Decision[] =>
  outcomes.flatMap((outcome) => (outcome.kind === 'decided' ? [outcome.decision] : []));

/** Returns null if the stop was decided before its checks. */
function outcomesOf({ verdicts }: Decision): Readonly<Record<string, string>> | null {
  const outcomes = verdicts.find(({ guard }) => guard === 'checks')?.input?.outcomes;
  return typeof outcomes === 'object' && outcomes !== null ? (outcomes as Record<string, string>) : null;
}

/** The first word that fits. An error is no failure, so a check that is always in error counts as never passing. */
function lookOf({ runs, passes, failures, blocks, overturned, differing }: Counts): RuleLook | null {
  if (runs === 0) return 'never ran';
  if (overturned > blocks / 2) return 'mostly overturned';
  if (differing > 0) return 'flaky';
  if (passes === 0) return 'always fails';
  return failures === 0 ? 'never failed' : null;
}
