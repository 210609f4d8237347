/**
 * A worker's history as a sequence diagram. Participants are the worker, its parent and subagents, its tasks and
 * checks, operators and the service; the messages are log entries. Pure.
 */
import type { TimelineEntry } from './messages.ts';

export type Participant = {
  /** Kind and id: `worker w1`, `check unit`. */
  readonly key: string;
  readonly kind: 'operator' | 'worker' | 'service' | 'check' | 'task';
  readonly name: string;
};
export type Message = {
  readonly seq: number;
  readonly atMs: number;
  /** Keys of participants. Equal for a message to itself. */
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly text: string;
  readonly entry: TimelineEntry;
  /** Number of equal messages in a row; this is the first of them. */
  readonly count: number;
};
export type Sequence = { readonly participants: readonly Participant[]; readonly messages: readonly Message[] };

const service = 'service stopgate';
const operator = 'operator operator';
const order = ['operator', 'own', 'service', 'check', 'task', 'worker'];

/**
 * @param entries in any order, without duplicates
 * @param worker the worker of the diagram, placed beside the service; other workers come last
 */
export function sequenceOf(entries: readonly TimelineEntry[], worker: string): Sequence {
  const messages: Message[] = [];
  for (const entry of [...entries].sort((a, b) => a.seq - b.seq)) {
    const message = messageOf(entry);
    const last = messages.at(-1);
    if (last !== undefined && isRepeated(last, message))
      messages[messages.length - 1] = { ...last, count: last.count + 1 };
    else messages.push(message);
  }
  const keys = new Set([`worker ${worker}`, ...messages.flatMap(({ from, to }) => [from, to])]);
  const participants = [...keys].map((key): Participant => {
    const space = key.indexOf(' ');
    return { key, kind: key.slice(0, space) as Participant['kind'], name: key.slice(space + 1) };
  });
  const rank = ({ kind, key }: Participant) => order.indexOf(key === `worker ${worker}` ? 'own' : kind);
  return { participants: participants.sort((a, b) => rank(a) - rank(b)), messages };
}

/** Consecutive tool calls are shown as one message. */
const isRepeated = (last: Message, { from, to, type }: Message): boolean =>
  type === 'tool.used' && last.type === type && last.from === from && last.to === to;

function messageOf(entry: TimelineEntry): Message {
  const { seq, atMs, type, text } = entry;
  const [from, to] = endsOf(entry);
  return { seq, atMs, from, to, type, text, entry, count: 1 };
}

function endsOf({ entity, id, type, by, data }: TimelineEntry): readonly [from: string, to: string] {
  const about = `${entity} ${id}`;
  const { task, check, parent } = data as { task?: unknown; check?: unknown; parent?: unknown };
  if (by === 'operator') return [operator, about];
  if (by === 'service') {
    if (typeof check === 'string' && type === 'check.started') return [service, `check ${check}`];
    if (typeof check === 'string' && type === 'check.finished') return [`check ${check}`, service];
    return [service, about];
  }
  if (entity !== 'worker') return [about, service];
  if (type === 'worker.registered' && typeof parent === 'string' && parent !== id) return [`worker ${parent}`, about];
  if (type.startsWith('task.') && typeof task === 'string') return [about, `task ${task}`];
  return [about, service];
}
