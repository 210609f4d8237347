/**
 * Evaluates the checks of a policy (protocol.md §5 and §8; seed 000, Composite Validator; seed 002,
 * CompositeChecker). Effectful checks are awaited, one after the other, until an entry answers them. Answered checks
 * are kept in `findings` and not evaluated again.
 */
import { formatDuration } from '../../values/time.ts';
import { holds } from '../condition.ts';
import { tooMuchWork } from '../glob.ts';
import {
  type Check,
  type CheckFacts,
  type CheckFinding,
  type CheckKind,
  type CheckOf,
  type CheckOutcome,
  type CheckScope,
  type CheckSettings,
  checkTimeoutMs,
  type EffectfulCheck,
  type Findings,
  type GroupOutcome,
  type Kind,
  soften,
} from './check.ts';
import { type CheckResult, cutDetails, type Feedback, noDetails } from './check-result.ts';
import { checkKinds, evaluateAll } from './kinds.ts';

/** `feedback` covers all checks that did not pass. */
type ChecksResult = {
  readonly outcome: ChecksOutcome;
  readonly findings: Findings;
  readonly feedback: readonly Feedback[];
};

/** `messages`: one per failure, if there are several. */
type ChecksOutcome = GroupOutcome & { readonly messages?: readonly string[] };

/**
 * @param known the findings so far; not changed
 * @param failures with `all`, every check runs and each failure is listed
 */
export function evaluateChecks(
  checks: readonly Check[],
  facts: CheckFacts,
  known: Readonly<Findings>,
  failures: 'first' | 'all' = 'first',
): ChecksResult {
  const scope: CheckScope = { facts, findings: { ...known }, feedback: [], evaluate, errorOf };
  const outcome = failures === 'first' ? evaluateAll(checks, scope) : evaluateEvery(checks, scope);
  return { outcome, findings: scope.findings, feedback: scope.feedback };
}

/**
 * Runs every check. Escalations take precedence over failures, and failures over errors. Joins the failures' messages.
 */
function evaluateEvery(checks: readonly Check[], scope: CheckScope): ChecksOutcome {
  const failures: string[] = [];
  let escalate: GroupOutcome | null = null;
  let error: GroupOutcome | null = null;
  for (const check of checks) {
    const outcome = scope.evaluate(check, scope);
    if (outcome.kind === 'awaits') return outcome;
    if (outcome.kind === 'escalate') escalate ??= outcome;
    if (outcome.kind === 'error') error ??= outcome;
    if (outcome.kind === 'fail') failures.push(outcome.message);
  }
  if (escalate !== null || failures.length === 0) return escalate ?? error ?? { kind: 'pass' };
  return { kind: 'fail', message: failures.join('; '), feedback: null, messages: failures };
}

/** Returns the names of checks that were not evaluated because an earlier check decided. */
export const unreached = (checks: readonly Check[], findings: Readonly<Findings>): string[] =>
  checks.flatMap((check) => {
    if (!Object.hasOwn(findings, check.name)) return leavesOf(check);
    return check.kind === 'all' ? unreached(check.of, findings) : [];
  });

/** The outcome of an evaluated check. `error`: it could not be judged, whatever its `onError` says. */
type CheckOutcomeWord = 'pass' | 'fail' | 'error' | 'warn' | 'skip';

/** Returns the outcome of each check that was evaluated, by name, without groups. */
export function outcomesIn(findings: Readonly<Findings>): Record<string, CheckOutcomeWord> {
  const outcomes: Record<string, CheckOutcomeWord> = {};
  for (const [name, finding] of Object.entries(findings)) {
    if (finding.kind === 'entered') continue;
    if (finding.kind === 'escalate') outcomes[name] = 'error';
    else if (finding.kind === 'fail') outcomes[name] = finding.feedback?.outcome === 'fail' ? 'fail' : 'error';
    else outcomes[name] = finding.kind;
  }
  return outcomes;
}

const leavesOf = (check: Check): string[] =>
  check.kind === 'all' || check.kind === 'any' ? check.of.flatMap(leavesOf) : [check.name];

function evaluate(check: Check, scope: CheckScope): CheckOutcome {
  const { facts, findings, feedback } = scope;
  // A check may be named `constructor`.
  const known = Object.hasOwn(findings, check.name) ? findings[check.name] : undefined;
  if (known !== undefined && known.kind !== 'entered') return collect(known, feedback);
  const isMet = known !== undefined || holds(check.when, facts);
  if (isMet !== true) {
    const finding: CheckFinding = isMet === null ? errorOf(check, tooMuchWork) : { kind: 'skip' };
    findings[check.name] = finding;
    return collect(finding, feedback);
  }
  const { evaluate: evaluateKind } = checkKinds[check.kind] as CheckKind<Kind>;
  if (check.kind === 'all' || check.kind === 'any') {
    findings[check.name] = { kind: 'entered' };
    return check.onFail === 'block' ? evaluateKind(check, scope) : warnOf(check, scope);
  }
  const outcome = evaluateKind(check, scope);
  if (outcome.kind === 'awaits') return outcome;
  findings[check.name] = outcome;
  return collect(outcome, feedback);
}

/** Evaluates a group that only warns. It gives one warning, not one for each member. */
function warnOf(group: CheckOf<'all' | 'any'>, scope: CheckScope): CheckOutcome {
  const { evaluate: evaluateKind } = checkKinds[group.kind] as CheckKind<Kind>;
  const feedback: Feedback[] = [];
  const outcome = evaluateKind(group, { ...scope, feedback });
  if (outcome.kind === 'awaits') return outcome;
  // Members inherited the group's `onError` and have already applied it, so it is not applied to the group again.
  const finding =
    outcome.kind === 'error' && group.onError === 'warn'
      ? errorOf(group, outcome.message)
      : soften(group, outcome.kind === 'entered' ? passed : outcome);
  if (finding.kind === 'warn') return collect(finding, scope.feedback);
  scope.feedback.push(...feedback);
  return finding;
}

const passed = { kind: 'pass' } as const;

function collect(finding: CheckFinding, feedback: Feedback[]): CheckFinding {
  if ('feedback' in finding && finding.feedback !== null) feedback.push(finding.feedback);
  return finding;
}

/** Converts a result from outside to a finding. */
export function findingOf(check: EffectfulCheck, result: CheckResult): CheckFinding {
  const { outcome } = result;
  if (outcome === 'pass') return { kind: 'pass' };
  const message = result.reason ?? defaultReason(check, outcome);
  const details = cutDetails(result.feedback ?? noDetails);
  if (outcome === 'fail')
    return soften(check, { kind: 'fail', message, feedback: { check: check.name, outcome, message, details } });
  return errorOf(check, message, { outcome, details });
}

/** Returns the finding of a check that could not be judged, following its `onError`. */
function errorOf(
  { name, onError }: CheckSettings,
  message: string,
  { outcome, details }: Pick<Feedback, 'outcome' | 'details'> = { outcome: 'error', details: noDetails },
): CheckFinding {
  if (onError === 'warn')
    return { kind: 'warn', message, feedback: { check: name, outcome: 'warn', message, details } };
  const kind = onError === 'block' ? 'fail' : onError === 'escalate' ? 'escalate' : 'error';
  return { kind, message, feedback: { check: name, outcome, message, details } };
}

function defaultReason(check: EffectfulCheck, outcome: 'fail' | 'error' | 'timeout'): string {
  if (outcome === 'fail') return `Check ${check.name} failed`;
  if (outcome === 'error') return `Check ${check.name} could not be run`;
  return `Check ${check.name} gave no answer within ${formatDuration(check.timeoutMs ?? checkTimeoutMs)}`;
}
