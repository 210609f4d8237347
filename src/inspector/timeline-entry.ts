/** Entries of the log as lines of a timeline that people read. */
import { type Decision, describeEntry, isHousekeeping, readEntry, readJson, topicOf } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import type { TimelineEntry } from './messages.ts';

const operatorTypes: ReadonlySet<string> = new Set([
  'escalation.acknowledged',
  'escalation.resolved',
  'input.answered',
  'worker.retired',
]);
const textLengthMax = 300;
const decoder = new TextDecoder();

/** Null: housekeeping of the service, which is about no actor. */
export function timelineEntry({ seq, atMs, subject, data }: LogMessage): TimelineEntry | null {
  const { entity, id, type } = topicOf(subject);
  if (isHousekeeping(type)) return null;
  const read = readJson(decoder.decode(data));
  const fields = read.ok ? read.value : { unreadable: read.message };
  const isOwn = subject.split('.')[2] !== entity;
  const by = operatorTypes.has(type) ? 'operator' : isOwn ? 'service' : 'agent';
  const text =
    type === 'decision'
      ? describeDecision(fields as Decision)
      : (describeRefusal(subject, data) ?? describeEntry(type, fields, ' · '));
  return { seq, atMs, entity, id, type, by, text: text.slice(0, textLengthMax), data: fields };
}

/** Null: the entry is valid. A refused entry stays in the log, and must not look as if it had an effect. */
function describeRefusal(subject: string, data: Uint8Array): string | null {
  const entry = readEntry(subject, decoder.decode(data), data.length);
  return entry === null || 'data' in entry ? null : `refused, so nothing changed: ${entry.message}`;
}

const describeDecision = ({ decision, action, cause, reason }: Decision): string =>
  `${decision} · ${action} · ${cause}: ${reason}`;
