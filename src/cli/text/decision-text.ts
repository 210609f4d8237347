/** Formats a decision for people: first the answer, then the reasons, guard by guard. */
import type { Decision, Feedback, Verdict } from '../../../machines/index.ts';
import { failingLine } from '../../../machines/replay/failing-line.ts';
import { checksNotRun } from '../../../machines/replay/standing.ts';
import { formatDuration } from '../../../machines/values/time.ts';
import { formatTable } from '../../terminal/table.ts';
import { type Colors, clean, cleanLines, cut, describeAnswer, paintAnswer, wrap } from '../../terminal/text.ts';

const linesMax = 12;
const unjudgedNote =
  'Not judged: the task stays claimed and verify refuses it. With "onError: block" the check would have blocked the stop.';

export function formatDecision(decision: Decision, colors: Colors, width: number): string[] {
  const { reason, nextPrompt, feedback } = decision;
  const notRun = checksNotRun(decision);
  return [
    paintAnswer(decision, colors)(colors.bold(describeAnswer(decision))) +
      (decision.dryRun ? colors.dim('  (dry run: nothing was logged)') : ''),
    ...(reason === '' ? [] : block(reason, '', width)),
    ...(decision.cause === 'unjudged' ? wrap(unjudgedNote, width).map(colors.blue) : []),
    ...(nextPrompt === null ? [] : ['', colors.bold('next prompt'), ...block(nextPrompt, '  ', width)]),
    ...(feedback.length + notRun.length === 0 ? [] : ['', colors.bold('feedback')]),
    ...feedback.flatMap((each) => block(describeFeedback(each), '  ', width)),
    ...notRun.flatMap((check) => block(`${check} (not run)`, '  ', width)),
    '',
    ...formatVerdicts(decision.verdicts, colors, width),
    '',
    ...formatFacts(decision, width).map((line) => colors.dim(line)),
  ];
}

/** Adds the line of the command's output that says what failed. The message only says that the command failed. */
function describeFeedback({ check, outcome, message, details }: Feedback): string {
  const line = outcome === 'fail' && typeof details === 'string' ? failingLine(details) : null;
  return `${check} (${outcome}): ${message}${line === null || message.includes(line) ? '' : `: ${line}`}`;
}

function formatVerdicts(verdicts: readonly Verdict[], colors: Colors, width: number): string[] {
  const marks = {
    pass: ['✓', colors.green],
    block: ['✗', colors.red],
    allow: ['●', colors.cyan],
    error: ['!', colors.yellow],
  } as const;
  const rows = verdicts.map(({ guard, verdict, detail, tookMs }) => {
    const [text, paint] = marks[verdict];
    const took = formatTook(tookMs ?? 0) ?? '';
    return [{ text, paint }, { text: guard }, { text: detail }, { text: took, paint: colors.dim }];
  });
  return formatTable([], rows, width - 2).map((line) => `  ${line}`);
}

function formatFacts(decision: Decision, width: number): string[] {
  const { worker, tasks, attempt, seq, state, policy, retry, pendingTasks, tookMs } = decision;
  const who = [
    `worker ${worker}`,
    tasks.length === 0 ? null : `${tasks.length === 1 ? 'task' : 'tasks'} ${tasks.join(', ')}`,
    `state ${state}`,
    `policy ${policy.name}`,
  ];
  const clocks = [
    `retries ${retry.count} of ${retry.max ?? 'any number'}`,
    `idle ${formatIdle(decision.idle)}`,
    `${pendingTasks} pending`,
    attempt === null ? null : `attempt ${attempt}`,
    seq === null ? null : `#${seq}`,
    formatTook(tookMs),
  ];
  return [who, clocks].map((parts) => cut(clean(parts.filter((part) => part !== null).join(' · ')), width));
}

/** `3m of 10m, 7m left`, or only the elapsed time if there is no limit. */
export function formatIdle({ ms, limitMs, remainingMs }: Decision['idle']): string {
  if (limitMs === null) return formatSeconds(ms);
  const left = remainingMs === null ? '' : `, ${formatSeconds(remainingMs)} left`;
  return `${formatSeconds(ms)} of ${formatDuration(limitMs)}${left}`;
}

/** Formats a running clock, rounded down to whole seconds. */
export const formatSeconds = (ms: number): string => formatDuration(Math.floor(Math.max(0, ms) / 1_000) * 1_000);

/** Returns null if the time is too short to show, or was not measured. */
function formatTook(ms: number): string | null {
  if (ms < 0.05) return null;
  if (ms < 1_000) return `${Math.round(ms * 10) / 10} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : formatDuration(Math.round(ms));
}

/** Wraps a text to the width and shortens it to `linesMax` lines. */
function block(text: string, indent: string, width: number): string[] {
  const lines = cleanLines(text).flatMap((line) => wrap(line, width - indent.length));
  const shown =
    lines.length > linesMax ? [...lines.slice(0, linesMax), `… ${lines.length - linesMax} more lines`] : lines;
  return shown.map((line) => `${indent}${line}`.trimEnd());
}
