/**
 * Sums up the sessions of a backtest. Keeps counts and three stops, so it does not grow with the number of sessions.
 */
import type { PolicySet } from '../../machines/index.ts';
import type { Check } from '../../machines/policy/checks/check.ts';
import type { JudgedSession, JudgedStop, StopOutcome } from './past-stop.ts';

/** A stop that would have been blocked, with its session. */
export type StopThatMattered = { readonly session: Omit<JudgedSession, 'stops' | 'fired'>; readonly stop: JudgedStop };

export type Summary = {
  readonly sessions: number;
  readonly sessionsByAgent: Readonly<Record<string, number>>;
  readonly stops: number;
  readonly outcomes: Readonly<Record<StopOutcome, number>>;
  /** How many stops each check or guard would have blocked, most first. */
  readonly blockedBy: Readonly<Record<string, number>>;
  /** How many stops were not judged because this check has no result, most first. */
  readonly notJudgedFor: Readonly<Record<string, number>>;
  /**
   * Checks that never failed although their results are known, as `check`, or `policy/check` if there are several
   * policies.
   */
  readonly neverFired: readonly string[];
  readonly damagedLines: number;
  readonly refusedCalls: number;
  readonly mattered: readonly StopThatMattered[];
};

type SummaryBuilder = { add(session: JudgedSession): void; summary(): Summary };

const matteredMax = 3;

export function createSummary(policies: PolicySet): SummaryBuilder {
  const outcomes = { allowed: 0, blocked: 0, escalated: 0, unjudged: 0 };
  const agents = new Map<string, number>();
  const blockedBy = new Map<string, number>();
  const notJudgedFor = new Map<string, number>();
  const fired = new Set<string>();
  let mattered: StopThatMattered[] = [];
  let [sessions, damagedLines, refusedCalls] = [0, 0, 0];
  return {
    add({ stops, fired: firedHere, ...session }) {
      sessions += 1;
      damagedLines += session.damaged;
      refusedCalls += session.refused;
      count(agents, session.agent);
      for (const check of firedHere) fired.add(check);
      for (const { outcome, by, missing } of stops) {
        outcomes[outcome] += 1;
        if (outcome === 'blocked') for (const name of by) count(blockedBy, name);
        for (const name of missing) count(notJudgedFor, name);
      }
      const stop = worstOf(stops);
      if (stop !== undefined)
        mattered = [...mattered, { session, stop }]
          .sort((a, b) => weightOf(b.stop) - weightOf(a.stop))
          .slice(0, matteredMax);
    },
    summary: () => ({
      sessions,
      sessionsByAgent: Object.fromEntries(agents),
      stops: Object.values(outcomes).reduce((sum, each) => sum + each, 0),
      outcomes: { ...outcomes },
      blockedBy: mostFirst(blockedBy),
      notJudgedFor: mostFirst(notJudgedFor),
      neverFired: neverFired(policies, fired),
      damagedLines,
      refusedCalls,
      mattered,
    }),
  };
}

const count = (counts: Map<string, number>, name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1);

const mostFirst = (counts: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));

const worstOf = (stops: readonly JudgedStop[]): JudgedStop | undefined =>
  stops.filter(({ outcome }) => outcome === 'blocked').sort((a, b) => weightOf(b) - weightOf(a))[0];

/** A longer absence, such as a night, was not caused by the stop. */
const absenceMsMax = 8 * 60 * 60 * 1_000;

/**
 * How much a blocked stop mattered. First come stops after which a person had to prompt the agent again, the longest
 * absence first. Then come stops after which nothing followed, so that the work stayed as it was. Stops that did not
 * end the work, of a sub-agent or of an agent that continued, come last.
 */
function weightOf({ next, again, subagent }: JudgedStop): number {
  if (subagent !== null || again) return 0;
  return next === null ? 1 : 2 + Math.min(next.afterMs, absenceMsMax);
}

/** Checks without a result can be the reason why a stop was not judged, but cannot fire. */
function neverFired({ policies }: PolicySet, fired: ReadonlySet<string>): string[] {
  const isOnlyPolicy = policies.size === 1;
  return [...policies].flatMap(([policy, { checks }]) =>
    checks
      .flatMap(leavesOf)
      .filter(({ kind }) => kind === 'plan' || kind === 'ran' || kind === 'rules')
      .filter(({ name }) => !fired.has(`${policy}/${name}`))
      .map(({ name }) => (isOnlyPolicy ? name : `${policy}/${name}`)),
  );
}

const leavesOf = (check: Check): Check[] =>
  check.kind === 'all' || check.kind === 'any' ? check.of.flatMap(leavesOf) : [check];
