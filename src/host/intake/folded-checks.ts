/**
 * Derives the results of the checks that the fold evaluates from a decision. No entry stores them, unlike those of
 * other checks (`check.finished`).
 */
import type { Check, Decision } from '../../../machines/index.ts';
import type { Evaluation } from '../../telemetry/evaluations.ts';

const effectful: ReadonlySet<Check['kind']> = new Set(['files', 'git', 'command', 'remote']);

/**
 * A check that is not in the feedback has passed, unless it may not have been evaluated: an earlier check decided, or
 * it or its group has a condition, or one of several is enough. Checks that may not have been evaluated are left out.
 */
export function foldedChecks({ verdicts, feedback }: Decision, checks: readonly Check[]): Evaluation[] {
  const row = verdicts.find(({ guard }) => guard === 'checks');
  if (row === undefined) return [];
  const notRun = row.input?.notRun ?? [];
  const isKnown = row.verdict === 'pass' || row.verdict === 'block';
  const evaluationsOf = (check: Check, isCertain: boolean): Evaluation[] => {
    const isAsked = isCertain && check.when === null;
    if (check.kind === 'all') return check.of.flatMap((member) => evaluationsOf(member, isAsked));
    if (check.kind === 'any') return check.of.flatMap((member) => evaluationsOf(member, false));
    if (effectful.has(check.kind)) return [];
    const found = feedback.find((item) => item.check === check.name);
    if (found !== undefined) return [{ check: check.name, outcome: found.outcome, reason: found.message }];
    const isReached = isKnown && Array.isArray(notRun) && !notRun.includes(check.name);
    return isAsked && isReached ? [{ check: check.name, outcome: 'pass' }] : [];
  };
  return checks.flatMap((check) => evaluationsOf(check, true));
}
