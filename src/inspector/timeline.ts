/** The history of one worker or task, as lines that a person reads: what it said, what was asked, what was decided. */
import { type Decision, describeEntry, isHousekeeping, readEntry, readJson, topicOf } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';

/** `text`: a few plain words. `data`: what was said, whole; of a `decision` the Decision. */
export type TimelineEntry = {
  readonly seq: number;
  readonly atMs: number;
  readonly entity: string;
  readonly id: string;
  readonly type: string;
  readonly by: 'agent' | 'service' | 'operator';
  readonly text: string;
  readonly data: object;
};

const operatorTypes: ReadonlySet<string> = new Set([
  'escalation.acknowledged',
  'escalation.resolved',
  'worker.retired',
]);
const textLengthMax = 300;
const decoder = new TextDecoder();

/** Null: the service's own ticking, which tells nothing of anyone. */
export function timelineEntry({ seq, atMs, subject, data }: LogMessage): TimelineEntry | null {
  const { entity, id, type } = topicOf(subject);
  if (isHousekeeping(type)) return null;
  const read = readJson(decoder.decode(data));
  const fields = read.ok ? read.value : { unreadable: read.message };
  const own = subject.split('.')[2] !== entity;
  const by = operatorTypes.has(type) ? 'operator' : own ? 'service' : 'agent';
  const text =
    type === 'decision' ? wordsOf(fields as Decision) : (whyRefused(subject, data) ?? describeEntry(type, fields));
  return { seq, atMs, entity, id, type, by, text: text.slice(0, textLengthMax), data: fields };
}

/** Null: it was taken. What was refused stands in the log all the same, and must not look as if it had counted. */
function whyRefused(subject: string, data: Uint8Array): string | null {
  const entry = readEntry(subject, decoder.decode(data), data.length);
  return entry === null || 'data' in entry ? null : `refused, so nothing changed: ${entry.message}`;
}

const wordsOf = ({ decision, action, cause, reason }: Decision): string =>
  `${decision} · ${action} · ${cause}: ${reason}`;
