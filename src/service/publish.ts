/** publish: validates an entry from an edge of this process (HTTP, hooks, MCP) and stores it in the log. */
import { isTooDeep, readFields, readSubject, retriedMessageId, tooDeepMessage } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { newId } from '../nats/id.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import { throwIfEntryRefused } from './get.ts';
import { checkBytes } from './parse-input.ts';
import type { Entity } from './views.ts';

/** An entry to store. `type` is `<noun>.<verb>`. Entries with the same `messageId` within 2 minutes are stored once. */
export type NewEntry = {
  readonly entity: Entity;
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly messageId?: string;
};

export async function publish(fleet: string, log: EventLog, entry: NewEntry): Promise<{ seq: number }> {
  const { subject, payload } = checkEntry(fleet, entry);
  const { messageId } = entry;
  const { seq, duplicate } = await log.append(subject, payload, { messageId });
  if (messageId === undefined || !duplicate) return { seq };
  const stored = await log.subjectAt(seq);
  if (stored === null || stored === subject) return { seq };
  // An agent has used the message id for another entry. That must not keep ours out of the log.
  const retried = await log.append(subject, payload, { messageId: retriedMessageId(messageId, newId()) });
  return { seq: retried.seq };
}

/**
 * Publishes an entry and waits until it is folded. If the fold takes too long, resolves anyway: the entry is stored,
 * and an error would make callers store it twice.
 * @throws AppError entry.refused if the entry is in the log but changes nothing
 */
export async function submit(host: Host, log: EventLog, entry: NewEntry): Promise<{ seq: number }> {
  const { seq } = await publish(host.fleet.name, log, entry);
  const isFolded = await host.foldedTo(seq).then(
    () => true,
    () => false,
  );
  if (isFolded) throwIfEntryRefused(host, entry, seq);
  return { seq };
}

/**
 * Returns the entry as it would be stored.
 * @throws AppError input.bad or entry.large if the fold would refuse it
 */
export function checkEntry(
  fleet: string,
  { entity, id, type, data }: NewEntry,
): { readonly subject: string; readonly payload: string } {
  const subject = `stopgate.${fleet}.${entity}.${id}.${type}`;
  const address = readSubject(subject);
  if (address === null) throw new AppError('input.bad', `'${subject}' is not the subject of an entry`);
  if ('code' in address) throw new AppError('input.bad', address.message);
  if (isTooDeep(data)) throw new AppError('input.bad', tooDeepMessage);
  const payload = JSON.stringify(data);
  checkBytes('entry', Buffer.byteLength(payload));
  const entry = readFields(address, data);
  if ('code' in entry) throw new AppError('input.bad', entry.message, { issues: entry.issues });
  return { subject, payload };
}
