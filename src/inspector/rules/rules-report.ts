/** How the checks of a fleet's policies have done. Imports nothing, because the page has it too. */

/** What deserves a look. The first that fits is named. */
export type RuleLook = 'never ran' | 'mostly overturned' | 'flaky' | 'always fails' | 'never failed';

export const lookWords: Readonly<Record<RuleLook, string>> = {
  'never ran': 'no stop reached it, or its condition never held',
  'mostly overturned': 'after most of its blocks a person let the worker stop all the same',
  flaky: 'it gave different results for the same work',
  'always fails': 'it has never passed',
  'never failed': 'it has always passed; does "stopgate test --control" make it fail?',
};

export type RuleHealth = {
  readonly policy: string;
  readonly check: string;
  readonly kind: string;
  /** How many decided stops evaluated it. `runs` is the sum of the next three. */
  readonly runs: number;
  readonly passes: number;
  /** With those that only warned. */
  readonly failures: number;
  /** It could not be judged. */
  readonly errors: number;
  /** Stops that it blocked, alone or with others. */
  readonly blocks: number;
  /** Blocks after which a person let the worker stop: by a pause, by resolving an escalation so, or by retiring it. */
  readonly overturned: number;
  /** The median of checks that run outside the fold; at most 25% too high. Null if none has run. */
  readonly medianMs: number | null;
  readonly lastFailure: {
    readonly at: string;
    readonly worker: string;
    readonly attempt: string;
    readonly reason: string;
  } | null;
  readonly look: RuleLook | null;
};

export type RulesReport = {
  /** Stops decided since then are counted. */
  readonly since: string;
  readonly decisions: number;
  /** The checks of the policies in force, in their order. Members of groups count on their own. */
  readonly rules: readonly RuleHealth[];
};

/** How far back a report looks by default: long enough for a rule that applies once a week. */
export const rulesSinceMs = 30 * 24 * 3_600_000;
