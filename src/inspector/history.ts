/** Pages of the history of one worker or task, newest first, read from the log by its subjects. */
import { isId } from '../../machines/index.ts';
import { placeOf, toLogLine } from '../entry-words.ts';
import type { EventLog } from '../nats/event-log.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { subjectsOf, type TimelineEntry, timelineEntry } from './timeline.ts';

type Log = Pick<EventLog, 'range' | 'history'>;
type About = { readonly fleet: string; readonly entity: 'worker' | 'task'; readonly id: string };

const windowMin = 20_000;

/**
 * The newest `limit` entries below `before` (null: below the end), newest last. `before` of the answer: where the next
 * page ends; null: there is nothing before it. The log is looked at in windows, each larger than the one after it.
 */
export async function readTimeline(
  log: Log,
  about: About,
  { before, limit }: { before: number | null; limit: number },
): Promise<{ entries: TimelineEntry[]; before: number | null }> {
  const { firstSeq, lastSeq } = await log.range();
  let found: TimelineEntry[] = [];
  let toSeq = Math.min(lastSeq, (before ?? lastSeq + 1) - 1);
  for (let size = windowMin; found.length < limit && toSeq >= firstSeq; size *= 4) {
    const fromSeq = Math.max(firstSeq, toSeq - size + 1);
    const part: TimelineEntry[] = [];
    await readAbout(log, about, fromSeq, toSeq, (message) => {
      const entry = timelineEntry(message);
      if (entry !== null) part.push(entry);
    });
    found = [...part.sort((a, b) => a.seq - b.seq), ...found];
    toSeq = fromSeq - 1;
  }
  const entries = found.slice(-limit);
  return { entries, before: found.length > limit || toSeq >= firstSeq ? (entries[0]?.seq ?? null) : null };
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
    log.history({ fromSeq: firstSeq, toSeq: lastSeq, filter }, (message) => {
      messages.push(message);
      const { type } = placeOf(message.subject);
      const { data } = toLogLine(message);
      if (type === 'task.claimed') tasks.add(String((data as { task?: unknown }).task));
    });
  for (const filter of subjectsOf(fleet, 'worker', worker)) await read(filter);
  await read(`stopgate.${fleet}.own.fleet.${fleet}.policy.set`);
  for (const task of [...tasks].filter(isId)) for (const filter of subjectsOf(fleet, 'task', task)) await read(filter);
  return messages.sort((a, b) => a.seq - b.seq).map((message) => JSON.stringify(toLogLine(message)));
}

/** A consumer of an old server has one filter, so each subject is read by itself. */
async function readAbout(
  log: Log,
  { fleet, entity, id }: About,
  fromSeq: number,
  toSeq: number,
  onMessage: (message: LogMessage) => void,
): Promise<void> {
  for (const filter of subjectsOf(fleet, entity, id)) await log.history({ fromSeq, toSeq, filter }, onMessage);
}
