/**
 * The newest entries and decisions about one worker or task, oldest first. They are on several subjects, and NATS servers
 * before 2.10 take one filter per consumer: each subject is read on its own, and the results are merged by sequence.
 */
import { type Decision, isHousekeeping, subjectTailsAbout, topicOf } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { type LogLine, toLogLine } from '../nats/log-line.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import type { Requester } from '../nats/requester.ts';

/** How many claims of all tasks, and decisions of each worker that held this one, are searched. */
const claimsMax = 5_000;
const decisionsMax = 500;
const holdersMax = 10;

/** @throws AppError actor.unknown, log.unavailable */
export async function readWorkerTimeline(requester: Requester, worker: string, count: number): Promise<LogLine[]> {
  const found = await Promise.all(subjectTailsAbout('worker', worker).map((tail) => readLines(requester, tail, count)));
  return newest(found.flat(), count);
}

/**
 * Reads the timeline of a task, with its claims, and the decisions about the worker that held it then. @throws AppError
 * actor.unknown, log.unavailable
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

/** Null, with a note, if the log cannot be read: what the service answered about the actor is shown anyway. */
export async function orNone(timeline: Promise<LogLine[]>, note: (line: string) => void): Promise<LogLine[] | null> {
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
