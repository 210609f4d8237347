/** A timeline for people: a line per entry, idle time collapsed, each decision with its deciding guard. */
import {
  type Decision,
  decidingGuard,
  decisionSchema,
  describeEntry,
  formatDuration,
  topicOf,
} from '../../machines/index.ts';
import type { LogLine } from '../nats/log-line.ts';
import { describeAnswer, paintAnswer } from '../terminal/answer.ts';
import type { Colors } from '../terminal/colors.ts';
import { clean, cut, pad } from '../terminal/text.ts';
import { formatClock } from './state-text.ts';

const idleMs = 60_000;
const typeWidth = 20;

/** `about`: whose timeline it is; entries of others are named. */
export function formatTimeline(
  lines: readonly LogLine[],
  about: { readonly entity: 'worker' | 'task'; readonly id: string },
  colors: Colors,
  width: number,
): string[] {
  let before: LogLine | null = null;
  return lines.flatMap((line) => {
    const shown = [...formatGap(before, line, colors), ...formatLine(line, about, colors, width)];
    before = line;
    return shown;
  });
}

/** The date if it is a new one, and the time in which nothing happened. */
function formatGap(before: LogLine | null, { at }: LogLine, colors: Colors): string[] {
  const gapMs = before === null ? 0 : Date.parse(at) - Date.parse(before.at);
  const gap = gapMs < idleMs ? [] : [colors.dim(`… ${formatDuration(Math.floor(gapMs / idleMs) * idleMs)} idle`)];
  const day = at.slice(0, 10);
  return before?.at.slice(0, 10) === day ? gap : [...gap, colors.dim(day)];
}

/** Holds for a valid decision; on a server without permissions anyone may publish one. */
const isDecision = (data: unknown): data is Decision => decisionSchema.safeParse(data).success;

function formatLine(
  { at, subject, data, seq }: LogLine,
  about: Parameters<typeof formatTimeline>[1],
  colors: Colors,
  width: number,
): string[] {
  const { entity, id, type } = topicOf(subject);
  const start = `${formatClock(at)}  ${pad(`#${seq}`, 6)}  `;
  const who = entity === about.entity ? '' : `${clean(id)}: `;
  const left = width - start.length - typeWidth - 2;
  const head = `${colors.dim(start)}${pad(cut(type, typeWidth), typeWidth)}  `;
  if (type !== 'decision' || !isDecision(data))
    return [`${head}${cut(who + clean(describeEntry(type, data)), left)}`.trimEnd()];
  const answer = cut(clean(`${who}${describeAnswer(data)}`), left);
  const guard = `(${decidingGuard(data) ?? 'no guard'})`;
  const reason = cut(clean(`  ${guard}  ${data.reason}`), left - answer.length);
  const first = `${head}${paintAnswer(data, colors)(answer)}${reason}`.trimEnd();
  const hooks = data.verdicts.find((verdict) => verdict.guard === 'hooks');
  if (about.entity !== 'task' || hooks === undefined) return [first];
  const result = cut(clean(`hooks ${hooks.verdict}: ${hooks.detail}`), left);
  return [first, `${' '.repeat(start.length + typeWidth + 2)}${colors.dim(result)}`];
}
