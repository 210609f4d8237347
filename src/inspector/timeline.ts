/** Pages of the timeline of one worker or task, read from the log by its subjects. */
import { subjectTailsAbout } from '../../machines/index.ts';
import type { EventLog } from '../nats/event-log.ts';
import type { TimelineEntry, TimelinePage, Topic } from './messages.ts';
import { timelineEntry } from './timeline-entry.ts';

/** The newest `limit` entries before `before`; null: before the end. */
export async function readTimeline(
  log: Pick<EventLog, 'newest'>,
  fleet: string,
  topic: Topic,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<TimelinePage> {
  // A consumer of nats-server 2.9 has one filter subject only, so each subject is read separately.
  const parts = await Promise.all(subjectsOf(fleet, topic).map((subject) => log.newest(subject, limit, before)));
  const messages = parts.flat().sort((a, b) => a.seq - b.seq);
  const page = messages.slice(-limit);
  const entries = page.map(timelineEntry).filter((it) => it !== null);
  return { entries, before: messages.length < limit ? null : (page[0]?.seq ?? null) };
}

/** Null: there is none at `seq`, or it is about no actor. */
export async function readEntryAt(log: Pick<EventLog, 'history'>, seq: number): Promise<TimelineEntry | null> {
  let found: TimelineEntry | null = null;
  await log.history({ fromSeq: seq, toSeq: seq }, (message) => {
    found = timelineEntry(message);
  });
  return found;
}

/** Every subject with entries about an actor. */
export const subjectsOf = (fleet: string, { entity, id }: Topic): string[] =>
  subjectTailsAbout(entity, id).map((tail) => `stopgate.${fleet}.${tail}`);
