/** Compares attempts: what is the same, what has changed, and whether a worker goes round in circles. */
import { diffLines, type LineChange } from '../line-diff.ts';
import type { AttemptRecord } from './messages.ts';

export type Changes = {
  readonly answer: readonly [before: string, after: string] | null;
  /** The messages of checks: lines that are new and lines that are gone. */
  readonly findings: readonly LineChange[];
  readonly output: readonly LineChange[];
};
export type Pattern =
  | { readonly kind: 'same'; readonly times: number }
  | { readonly kind: 'circle'; readonly length: number; readonly times: number };

const linesMax = 120;

/** @param newer the later of two */
export function changesBetween(newer: AttemptRecord, older: AttemptRecord): Changes {
  const [before, after] = [older, newer].map(({ decision }) => decision?.cause ?? 'open') as [string, string];
  return {
    answer: before === after ? null : [before, after],
    findings: changedLines(findingsOf(older), findingsOf(newer)),
    output: changedLines(linesOf(older.output), linesOf(newer.output)),
  };
}

/** Of the newest attempts that were not let go: the same failure again, or the same ones in turn. Newest first. */
export function patternOf(attempts: readonly AttemptRecord[]): Pattern | null {
  const failures = attempts.map(failureOf);
  const [latest] = failures;
  if (latest == null) return null;
  const streak = failures.findIndex((it) => it !== latest);
  const times = streak < 0 ? failures.length : streak;
  if (times >= 2) return { kind: 'same', times };
  for (const length of [2, 3]) {
    let run = length;
    while (run < failures.length && failures[run] !== null && failures[run] === failures[run - length]) run += 1;
    if (run >= 2 * length) return { kind: 'circle', length, times: Math.floor(run / length) };
  }
  return null;
}

/** What failed, whatever the figures, times and paths in it. Null: it did not. */
function failureOf({ decision }: AttemptRecord): string | null {
  if (decision === null || (decision.decision === 'allow' && decision.action !== 'escalate')) return null;
  const guard = decision.cause === 'superseded' ? '' : (decision.verdicts.at(-1)?.guard ?? '');
  const texts =
    decision.feedback.length > 0
      ? decision.feedback.map(({ check, message }) => `${check} ${message}`)
      : [decision.reason];
  return [guard === 'stuck' ? 'checks' : guard, ...texts].map(masked).join('\n');
}

const masked = (text: string): string =>
  text
    .replace(/(?:\.{0,2}\/)?[\w.-]+(?:\/[\w.-]+)+/g, 'path')
    .replace(/\d+/g, '#')
    .trim();

const findingsOf = ({ decision }: AttemptRecord): string[] =>
  (decision?.feedback ?? []).flatMap(({ check, outcome, message }) => [`${check}: ${outcome}`, ...linesOf(message)]);

const linesOf = (text: string | null): string[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-linesMax);

const changedLines = (before: readonly string[], after: readonly string[]): LineChange[] =>
  diffLines(before, after).filter((line): line is LineChange => line.sign !== ' ');
