/** Writes for people what other policies would have decided. */
import { type Decision, type Difference, decidingGuard, type WhatIfCounts } from '../../machines/index.ts';
import { describeAnswer, paintAnswer } from '../terminal/answer.ts';
import type { Colors } from '../terminal/colors.ts';
import { clean, cut } from '../terminal/text.ts';

export function formatDifference(difference: Difference, colors: Colors, width: number): string[] {
  const { worker, attempt, at, before, after } = difference;
  const answer = (name: string, decision: Decision) => {
    const text = describeAnswer(decision);
    const reason = cut(clean(decision.reason), width - name.length - text.length - 6);
    return `  ${colors.dim(name)}  ${paintAnswer(decision, colors)(text)}  ${reason}`.trimEnd();
  };
  const guard = (decision: Decision) => decidingGuard(decision) ?? 'none';
  const rest =
    after === null
      ? [`  ${colors.dim('after ')}  ${colors.yellow('unknown')}  ${cut(whyUnknown(difference.check), width - 19)}`]
      : [
          answer('after ', after),
          `  ${colors.dim('guard ')}  ${guard(before) === guard(after) ? guard(after) : `${guard(before)} -> ${guard(after)}`}`,
        ];
  const head = cut(clean(`${worker} · ${attempt} · ${at}`), width);
  return [colors.bold(head), answer('before', before), ...rest];
}

const whyUnknown = (check: string | null): string =>
  check === null ? 'it would still be held when the log ends' : `the log has no result of check ${clean(check)}`;

/** `3 attempts compared: 1 would differ, 1 unknown` */
export function describeCounts({ attempts, differ, unknown }: WhatIfCounts): string {
  const compared = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} compared`;
  return `${compared}: ${differ} would differ${unknown === 0 ? '' : `, ${unknown} unknown`}`;
}
