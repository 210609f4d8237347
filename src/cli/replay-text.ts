/** A result of a replay for people: whose it is, and below it what was decided and why. */
import type { ReplayLine } from '../../machines/index.ts';
import { describeAnswer, paintAnswer } from '../terminal/answer.ts';
import type { Colors } from '../terminal/colors.ts';
import { clean, cut } from '../terminal/text.ts';

export function formatReplayLine(line: ReplayLine, colors: Colors, width: number): string[] {
  const { who, answer, paint, reason } = describe(line, colors);
  const why = cut(clean(reason), width - answer.length - 4);
  return [colors.bold(cut(clean(who.join(' · ')), width)), `  ${paint(answer)}  ${why}`.trimEnd()];
}

function describe(line: ReplayLine, colors: Colors) {
  if ('taskId' in line) {
    const { taskId, action } = line;
    if (action === null) return { who: [`task ${taskId}`], answer: 'open', paint: colors.yellow, reason: '' };
    const paint = { complete: colors.green, continue: colors.red, escalate: colors.magenta }[action];
    return { who: [`task ${taskId}`, `iteration ${line.iteration}`], answer: action, paint, reason: line.reason };
  }
  const { worker, attempt, at } = line;
  const who = [worker, ...(attempt === null ? [] : [attempt]), at];
  if (line.decision === null)
    return { who, answer: 'open', paint: colors.yellow, reason: `it waits for: ${line.waitsFor}` };
  return { who, answer: describeAnswer(line), paint: paintAnswer(line, colors), reason: line.reason };
}
