/** One message of the log as a line: `12:00:03.250  #123  w1  tool.used  Bash (ok)`. */

import { type Decision, describeEntry, isFields, topicOf } from '../../machines/index.ts';
import type { LogLine } from '../nats/log-line.ts';
import { describeAnswer, paintAnswer } from '../terminal/answer.ts';
import type { Colors } from '../terminal/colors.ts';
import { clean, cut, pad, widthOf } from '../terminal/text.ts';
import { formatClock } from './state-text.ts';

const detailMax = 200;

export function formatLogLine({ at, subject, data, seq }: LogLine, colors: Colors, width: number): string {
  const { entity, id, type } = topicOf(subject);
  const who = entity === 'worker' ? id : entity === 'fleet' ? 'fleet' : `${entity} ${id}`;
  const start = `${formatClock(at)}  ${pad(`#${seq}`, 6)}  `;
  const middle = `${pad(cut(clean(who), 24), 10)}  ${pad(cut(clean(type), 24), 18)}  `;
  const left = Math.min(detailMax, width - start.length - widthOf(middle));
  const shorten = (text: string) => cut(clean(text), left);
  if (!isFields(data))
    return `${colors.dim(start)}${middle}${colors.yellow(shorten(describeEntry(type, data)))}`.trimEnd();
  if (type === 'decision') {
    const decision = data as unknown as Decision;
    const answer = shorten(describeAnswer(decision));
    const reason = cut(clean(`  ${decision.reason ?? ''}`), left - widthOf(answer));
    return `${colors.dim(start)}${middle}${paintAnswer(decision, colors)(answer)}${reason}`.trimEnd();
  }
  return `${colors.dim(start)}${middle}${shorten(describeEntry(type, data))}`.trimEnd();
}
