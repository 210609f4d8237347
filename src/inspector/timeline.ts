/** Reads the timeline of one worker or task from the log. */
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

/** Entries that only an operator may publish. */
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

/** Converts a log entry for the timeline. Returns null for housekeeping entries, which are not about an actor. */
export function timelineEntry({ seq, atMs, subject, data }: LogMessage): TimelineEntry | null {
  const { entity, id, type } = topicOf(subject);
  if (isHousekeeping(type)) return null;
  const read = readJson(decoder.decode(data));
  const fields = read.ok ? read.value : { unreadable: read.message };
  const isOwn = subject.split('.')[2] !== entity;
  // An agent may publish an operator's entry. It is refused, and must not be shown as the operator's action.
  const by = !isOwn ? 'agent' : operatorTypes.has(type) ? 'operator' : 'service';
  const text =
    type === 'decision'
      ? describeDecision(fields as Decision)
      : (describeRefusal(subject, data) ?? describeEntry(type, fields, ' · '));
  return { seq, atMs, entity, id, type, by, text: text.slice(0, textLengthMax), data: fields };
}

/** Returns null for a valid entry. A refused entry stays in the log but must not look as if it had an effect. */
function describeRefusal(subject: string, data: Uint8Array): string | null {
  const entry = readEntry(subject, decoder.decode(data), data.length);
  return entry === null || 'data' in entry ? null : `refused, nothing changed: ${entry.message}`;
}

const describeDecision = ({ decision, action, cause, reason }: Decision): string =>
  `${decision} · ${action} · ${cause}: ${reason}`;

/** Reads the newest `limit` entries before entry `before`. Null reads from the end of the log. */
export async function readTimeline(
  log: Pick<EventLog, 'newest'>,
  fleet: string,
  topic: Topic,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<TimelinePage> {
  // Consumers of nats-server 2.9 support only one filter subject, so read each subject separately.
  const parts = await Promise.all(subjectsOf(fleet, topic).map((subject) => log.newest(subject, limit, before)));
  const messages = parts.flat().sort((a, b) => a.seq - b.seq);
  const page = messages.slice(-limit);
  const entries = page.map(timelineEntry).filter((entry) => entry !== null);
  return { entries, before: messages.length < limit ? null : (page[0]?.seq ?? null) };
}

/** Reads the entry at `seq`. Returns null if there is none or it is not about an actor. */
export async function readEntryAt(log: Pick<EventLog, 'history'>, seq: number): Promise<TimelineEntry | null> {
  let found: TimelineEntry | null = null;
  await log.history({ fromSeq: seq, toSeq: seq }, (message) => {
    found = timelineEntry(message);
  });
  return found;
}

/** All subjects with entries about an actor. */
export const subjectsOf = (fleet: string, { entity, id }: Topic): string[] =>
  subjectTailsAbout(entity, id).map((tail) => `stopgate.${fleet}.${tail}`);
