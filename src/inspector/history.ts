/** Pages of the history of one worker or task, newest first, read from the log by its subjects. */
import { isId, subjectTailsAbout, topicOf } from '../../machines/index.ts';
import type { EventLog } from '../nats/event-log.ts';
import { toLogLine } from '../nats/log-line.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { type TimelineEntry, timelineEntry } from './timeline.ts';

type Log = Pick<EventLog, 'range' | 'history'>;
type About = { readonly fleet: string; readonly entity: 'worker' | 'task'; readonly id: string };

/**
 * The newest `limit` entries below `before` (null: below the end), newest last. `before` of the answer: where the next
 * page ends; null: there is nothing before it.
 */
export async function readTimeline(
  log: Pick<EventLog, 'newest'>,
  { fleet, entity, id }: About,
  { before, limit }: { before: number | null; limit: number },
): Promise<{ entries: TimelineEntry[]; before: number | null }> {
  // A consumer of an old server has one filter, so each subject is read by itself.
  const parts = await Promise.all(subjectsOf(fleet, entity, id).map((subject) => log.newest(subject, limit, before)));
  const messages = parts.flat().sort((a, b) => a.seq - b.seq);
  const page = messages.slice(-limit);
  const entries = page.map(timelineEntry).filter((it) => it !== null);
  return { entries, before: messages.length < limit ? null : (page[0]?.seq ?? null) };
}

/**
 * A worker's entries as lines that `stopgate replay` takes, with what its decisions stand on: the policies, and the
 * tasks that it ever claimed.
 */
export async function readLines(log: Log, fleet: string, worker: string): Promise<string[]> {
  const { firstSeq, lastSeq } = await log.range();
  const messages: LogMessage[] = [];
  const tasks = new Set<string>();
  const read = (filter: string) =>
    log.history({ fromSeq: firstSeq, toSeq: lastSeq, subject: filter }, (message) => {
      messages.push(message);
      const { type } = topicOf(message.subject);
      const { data } = toLogLine(message);
      if (type === 'task.claimed') tasks.add(String((data as { task?: unknown }).task));
    });
  for (const filter of subjectsOf(fleet, 'worker', worker)) await read(filter);
  await read(`stopgate.${fleet}.own.fleet.${fleet}.policy.set`);
  for (const task of [...tasks].filter(isId)) for (const filter of subjectsOf(fleet, 'task', task)) await read(filter);
  return messages.sort((a, b) => a.seq - b.seq).map((message) => JSON.stringify(toLogLine(message)));
}

const subjectsOf = (fleet: string, entity: 'worker' | 'task', id: string): string[] =>
  subjectTailsAbout(entity, id).map((tail) => `stopgate.${fleet}.${tail}`);
