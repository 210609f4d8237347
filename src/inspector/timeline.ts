/** Pages of the timeline of one worker or task, read from the log by its subjects. */
import {
  type Decision,
  describeEntry,
  isHousekeeping,
  readEntry,
  readJson,
  subjectTailsAbout,
  topicOf,
} from '../../machines/index.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import type { TimelineEntry, TimelinePage, Topic } from './messages.ts';

/** Entries of the log as lines of a timeline that people read. */
const operatorTypes: ReadonlySet<string> = new Set([
  'escalation.acknowledged',
  'escalation.resolved',
  'input.answered',
  'worker.retired',
  'worker.paused',
  'worker.unpaused',
]);
const textLengthMax = 300;
const decoder = new TextDecoder();

/** Describes an entry. Null: it is the service's housekeeping, which is about no actor. */
export function timelineEntry({ seq, atMs, subject, data }: LogMessage): TimelineEntry | null {
  const { entity, id, type } = topicOf(subject);
  if (isHousekeeping(type)) return null;
  const read = readJson(decoder.decode(data));
  const fields = read.ok ? read.value : { unreadable: read.message };
  const isOwn = subject.split('.')[2] !== entity;
  // An agent may publish what only an operator may do: it is refused, and the operator has not done it.
  const by = !isOwn ? 'agent' : operatorTypes.has(type) ? 'operator' : 'service';
  const text =
    type === 'decision'
      ? describeDecision(fields as Decision)
      : (describeRefusal(subject, data) ?? describeEntry(type, fields, ' · '));
  return { seq, atMs, entity, id, type, by, text: text.slice(0, textLengthMax), data: fields };
}

/** Returns null if the entry is valid. A refused entry stays in the log, and must not look as if it had an effect. */
function describeRefusal(subject: string, data: Uint8Array): string | null {
  const entry = readEntry(subject, decoder.decode(data), data.length);
  return entry === null || 'data' in entry ? null : `refused, so nothing changed: ${entry.message}`;
}

const describeDecision = ({ decision, action, cause, reason }: Decision): string =>
  `${decision} · ${action} · ${cause}: ${reason}`;

/** Reads the newest `limit` entries before entry `before`; null: before the end. */
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

/** Reads the entry at `seq`. Null: there is none, or it is about no actor. */
export async function readEntryAt(log: Pick<EventLog, 'history'>, seq: number): Promise<TimelineEntry | null> {
  let found: TimelineEntry | null = null;
  await log.history({ fromSeq: seq, toSeq: seq }, (message) => {
    found = timelineEntry(message);
  });
  return found;
}

/** Returns every subject with entries about an actor. */
export const subjectsOf = (fleet: string, { entity, id }: Topic): string[] =>
  subjectTailsAbout(entity, id).map((tail) => `stopgate.${fleet}.${tail}`);
