/** What other policies would have decided, as a person reads it. */
import { type Decision, type Difference, decidingGuard, type WhatIfCounts } from '../../machines/index.ts';
import { describeAnswer, paintAnswer } from '../terminal/answer.ts';
import type { Colors } from '../terminal/colors.ts';
import { clean, cut } from '../terminal/text.ts';

export function formatDifference(difference: Difference, colors: Colors, width: number): string[] {
  const { worker, attempt, at, before, after } = difference;
  const answer = (name: string, decision: Decision) => {
    const words = describeAnswer(decision);
    const reason = cut(clean(decision.reason), width - name.length - words.length - 6);
    return `  ${colors.dim(name)}  ${paintAnswer(decision, colors)(words)}  ${reason}`.trimEnd();
  };
  const guard = (decision: Decision) => decidingGuard(decision) ?? 'none';
  const told =
    after === null
      ? [
          `  ${colors.dim('after ')}  ${colors.yellow('cannot be told')}  ${cut(whyUntold(difference.check), width - 26)}`,
        ]
      : [
          answer('after ', after),
          `  ${colors.dim('guard ')}  ${guard(before) === guard(after) ? guard(after) : `${guard(before)} -> ${guard(after)}`}`,
        ];
  const head = cut(clean(`${worker} · ${attempt} · ${at}`), width);
  return [colors.bold(head), answer('before', before), ...told];
}

const whyUntold = (check: string | null): string =>
  check === null ? 'it would still be held where the log ends' : `the log has no answer of check ${clean(check)}`;

/** `3 attempts looked at: 1 would differ, 1 cannot be told` */
export function describeCounts({ attempts, differ, unknown }: WhatIfCounts): string {
  const looked = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} looked at`;
  return `${looked}: ${differ} would differ${unknown === 0 ? '' : `, ${unknown} cannot be told`}`;
}
