/** Compares attempts: what changed between two of them, and whether a worker keeps failing in the same way. */
import type { Decision } from '../../machines/index.ts';
import { checksNotRun } from '../../machines/replay/standing.ts';
import { type DiffLine, diffLines, type LineChange } from '../text/line-diff.ts';
import type { AttemptRecord } from './messages.ts';
import { verdictOf } from './vocabulary.ts';

type Changes = {
  readonly answer: readonly [before: string, after: string] | null;
  /**
   * Added and removed lines of the checks' findings. Sign ' ' marks changes that are neither better nor worse: checks
   * that only one of the attempts reached, and failures that differ only in their numbers.
   */
  readonly findings: readonly DiffLine[];
  readonly output: readonly LineChange[];
};
export type Pattern =
  | { readonly kind: 'same'; readonly times: number }
  | { readonly kind: 'circle'; readonly length: number; readonly times: number };

const linesMax = 120;

export function changesBetween(newer: AttemptRecord, older: AttemptRecord): Changes {
  const [before, after] = [older, newer].map(({ decision }) => (decision === null ? 'open' : verdictOf(decision).word));
  return {
    answer: before === after || before === undefined || after === undefined ? null : [before, after],
    findings: changedFindings(older, newer),
    output: changedLines(linesOf(older.output), linesOf(newer.output)),
  };
}

/**
 * Detects that the newest attempts failed in the same way, or cycle through the same 2 or 3 failures.
 * @param attempts newest first
 */
export function patternOf(attempts: readonly AttemptRecord[]): Pattern | null {
  const failures = attempts.map(failureOf);
  const [latest] = failures;
  if (latest == null) return null;
  const streak = failures.findIndex((failure) => failure !== latest);
  const times = streak < 0 ? failures.length : streak;
  if (times >= 2) return { kind: 'same', times };
  for (const length of [2, 3]) {
    let run = length;
    while (run < failures.length && failures[run] !== null && failures[run] === failures[run - length]) run += 1;
    if (run >= 2 * length) return { kind: 'circle', length, times: Math.floor(run / length) };
  }
  return null;
}

/** Number of attempts that the page loads: enough to see a cycle of two failures three times. */
export const attemptsShown = 6;

export function describePattern(pattern: Pattern): string {
  const { kind, times } = pattern;
  const attempts = kind === 'same' ? times : times * pattern.length;
  const howOften = `${attempts < attemptsShown ? '' : 'at least '}${times} times`;
  return kind === 'same'
    ? `The same failure ${howOften} in a row`
    : `Going in circles: the same ${pattern.length} failures in turn, ${howOften}`;
}

/**
 * Describes a failure, with numbers and paths masked so that repeats compare equal. Null if the attempt did not fail.
 */
function failureOf({ decision }: AttemptRecord): string | null {
  if (decision === null || !isFailure(decision)) return null;
  const { verdicts, cause } = decision;
  const guard = cause === 'superseded' ? '' : (blockingGuard(decision) ?? verdicts.at(-1)?.guard ?? '');
  const failures = decision.feedback.filter(({ outcome }) => outcome !== 'warn');
  const texts = failures.length > 0 ? failures.map(({ check, message }) => `${check} ${message}`) : [decision.reason];
  return [guard, ...texts].map(masked).join('\n');
}

/** A question, a used budget and a wait for background work are no failures, even if they come twice. */
const isFailure = ({ decision, action, cause }: Decision): boolean =>
  decision === 'block' ? cause === 'incomplete' || cause === 'stuck' : action === 'escalate' && failed.has(cause);
const failed: ReadonlySet<Decision['cause']> = new Set(['capped', 'stuck']);

const masked = (text: string): string =>
  text
    .replace(/(?:\.{0,2}\/)?[\w.-]+(?:\/[\w.-]+)+/g, 'path')
    .replace(/\d+/g, '#')
    .trim();

function changedFindings(older: AttemptRecord, newer: AttemptRecord): DiffLine[] {
  const [before, after] = [findingsOf(older), findingsOf(newer)];
  const unknownNow = [...before.keys()].filter((check) => !after.has(check) && !wasRun(newer, check, older));
  const unknownThen = [...after.keys()].filter((check) => !before.has(check) && !wasRun(older, check, newer));
  const compared = (findings: ReadonlyMap<string, readonly string[]>, unknown: readonly string[]) =>
    [...findings].flatMap(([check, lines]) => (unknown.includes(check) ? [] : lines));
  const neutral = (text: string): DiffLine => ({ sign: ' ', text });
  return [
    ...withSameFailures(changedLines(compared(before, unknownNow), compared(after, unknownThen))),
    ...unknownNow.map((check) => neutral(`${check}: not run`)),
    ...unknownThen.map((check) => neutral(`${after.get(check)?.[0] ?? check}, and was not run before`)),
  ];
}

/**
 * Merges a removed and an added line that differ only in numbers ("2 of 412 fail", "1 of 412 fail") into a neutral one.
 */
function withSameFailures(changes: readonly LineChange[]): DiffLine[] {
  const isSame = (one: LineChange, other: LineChange) => one.sign !== other.sign && digitless(one) === digitless(other);
  const twins = new Map<LineChange, LineChange>();
  for (const change of changes) {
    const twin = changes.find((other) => !twins.has(other) && isSame(change, other));
    if (twin !== undefined && !twins.has(change)) twins.set(change, twin).set(twin, change);
  }
  return changes.flatMap((change): DiffLine[] => {
    const twin = twins.get(change);
    if (twin === undefined) return [change];
    return change.sign === '-' ? [] : [{ sign: ' ', text: `${change.text} (before: ${twin.text})` }];
  });
}

const digitless = ({ text }: LineChange): string => text.replace(/\d+/g, '#');

/** Maps each check that did not pass to its outcome, followed by its list of failures or the lines of its message. */
function findingsOf({ decision }: AttemptRecord): Map<string, string[]> {
  const findings = new Map<string, string[]>();
  for (const { check, outcome, message, details } of decision?.feedback ?? []) {
    const isList =
      Array.isArray(details) && details.length > 0 && details.every((detail) => typeof detail === 'string');
    const lines = linesOf(isList ? details.join('\n') : message);
    findings.set(check, [...(findings.get(check) ?? []), `${check}: ${outcome}`, ...lines]);
  }
  return findings;
}

/**
 * Whether an attempt reached a check or hook that is not among its findings, so that it passed or did not apply.
 * @param failed the other attempt, which has findings of this check
 */
function wasRun({ decision, checks }: AttemptRecord, check: string, failed: AttemptRecord): boolean {
  if (checks.some((run) => run.check === check)) return true;
  const guard = blockingGuard(failed.decision) === 'hooks' ? 'hooks' : 'checks';
  const verdict = decision?.verdicts.find((verdict) => verdict.guard === guard);
  if (decision === null || verdict === undefined) return false;
  if (guard === 'checks') return !checksNotRun(decision).includes(check);
  const said = verdict.input?.said;
  return verdict.verdict === 'pass' || (Array.isArray(said) && said.some(({ hook }) => hook === check));
}

/** The guard that failed, even if the decision was not a block because of `stuck` or the retry cap. */
const blockingGuard = (decision: Decision | null): string | undefined =>
  decision?.verdicts.find(({ verdict }) => verdict === 'block')?.guard;

const linesOf = (text: string | null): string[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-linesMax);

const changedLines = (before: readonly string[], after: readonly string[]): LineChange[] =>
  diffLines(before, after).filter((line): line is LineChange => line.sign !== ' ');

/** Returns the lines of the prompt that repeat neither the reason nor the findings, which are shown above it. */
export function promptAdditions({ nextPrompt, reason, feedback }: Decision): string {
  const found = feedback.flatMap(({ check, message, details }) => [
    check,
    message,
    typeof details === 'string' ? details : JSON.stringify(details ?? ''),
  ]);
  const known = [reason, ...found].join('\n');
  const isNew = (line: string) => {
    const text = line.replace(/^[-*•\s]+/, '').trim();
    return text === '' || (!known.includes(text) && !text.includes(reason));
  };
  return (nextPrompt ?? '')
    .split('\n')
    .filter(isNew)
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}
