/**
 * Reads and formats the newest entries and decisions about one worker or task, oldest first. They are on several
 * subjects, and NATS servers before 2.10 allow one filter per consumer, so each subject is read separately and the
 * results are merged by sequence.
 */
import {
  type Decision,
  decidingGuard,
  decisionSchema,
  describeEntry,
  formatDuration,
  isFields,
  isHousekeeping,
  subjectTailsAbout,
  topicOf,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { type LogLine, toLogLine } from '../../nats/log/log-line.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Requester } from '../../nats/requester.ts';
import { type Colors, clean, cut, describeAnswer, pad, paintAnswer, widthOf } from '../../terminal/text.ts';
import { formatClock } from './state-text.ts';

/** Search limits: claims of all tasks, decisions per worker that held the task, and such workers. */
const claimsMax = 5_000;
const decisionsMax = 500;
const holdersMax = 10;

/** @throws AppError actor.unknown, log.unavailable */
export async function readWorkerTimeline(requester: Requester, worker: string, count: number): Promise<LogLine[]> {
  const found = await Promise.all(subjectTailsAbout('worker', worker).map((tail) => readLines(requester, tail, count)));
  return newest(found.flat(), count);
}

/**
 * Reads the timeline of a task: its entries, its claims, and the decisions about the workers that held it.
 * @throws AppError actor.unknown, log.unavailable
 */
export async function readTaskTimeline(requester: Requester, task: string, count: number): Promise<LogLine[]> {
  const [entries, moves] = await Promise.all([
    Promise.all(subjectTailsAbout('task', task).map((tail) => readLines(requester, tail, count))),
    readLines(requester, 'worker.*.task.*', claimsMax),
  ]);
  const claims = moves.filter(({ data }) => taskOf(data) === task);
  const holders = [...new Set(claims.map(({ subject }) => topicOf(subject).id).reverse())].slice(0, holdersMax);
  const decisions = await Promise.all(
    holders.map((worker) => readLines(requester, `decision.${worker}`, decisionsMax)),
  );
  const about = decisions.flat().filter(({ data }) => (data as Partial<Decision> | null)?.tasks?.includes(task));
  return newest([...entries.flat(), ...claims, ...about], count);
}

/** Returns the text of the newest prompt, or null if no entry has one or the log cannot be read. */
export async function readLastPrompt(requester: Requester, worker: string): Promise<string | null> {
  const [line] = await readLines(requester, `worker.${worker}.prompt.submitted`, 1).catch((): LogLine[] => []);
  const text = isFields(line?.data) ? line.data.text : null;
  return typeof text === 'string' && text !== '' ? text : null;
}

/** Notes that the log cannot be read and returns null: what the service replied about the actor is shown anyway. */
export async function nullIfUnreadable(
  timeline: Promise<LogLine[]>,
  note: (line: string) => void,
): Promise<LogLine[] | null> {
  try {
    return await timeline;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    note(`stopgate: no timeline: ${error.message}`);
    return null;
  }
}

async function readLines(requester: Requester, tail: string, count: number): Promise<LogLine[]> {
  const messages: readonly LogMessage[] = await requester.readNewest(tail, count);
  return messages.filter(({ subject }) => !isHousekeeping(topicOf(subject).type)).map(toLogLine);
}

const newest = (lines: readonly LogLine[], count: number): LogLine[] =>
  lines.toSorted((a, b) => a.seq - b.seq).slice(-count);

const taskOf = (data: unknown): unknown => (data as { task?: unknown } | null)?.task;

/** Shorter gaps between entries are not shown, and longer ones are rounded down to a multiple of this. */
const gapMs = 60_000;
const typeWidth = 20;

/**
 * Formats one line per entry, collapses idle time, and shows each decision with its deciding guard.
 * @param about the actor of the timeline; entries of other actors are shown with their id
 */
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

/** Shows the time without entries, and the date if it changed. */
function formatGap(before: LogLine | null, { at }: LogLine, colors: Colors): string[] {
  const idleMs = before === null ? 0 : Date.parse(at) - Date.parse(before.at);
  const gap = idleMs < gapMs ? [] : [colors.dim(`… ${formatDuration(Math.floor(idleMs / gapMs) * gapMs)} idle`)];
  const day = at.slice(0, 10);
  return before?.at.slice(0, 10) === day ? gap : [...gap, colors.dim(day)];
}

/** Validates the decision, because anyone may publish one on a server without permissions. */
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

/** Maximum length of an entry's text, in characters. */
const detailMax = 200;

/** Formats one message of the log: `12:00:03.250  #123  w1  tool.used  Bash (ok)`. */
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
