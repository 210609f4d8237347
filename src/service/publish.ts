/** publish: an entry from an edge of this process (HTTP, hooks, MCP) into the log, checked before it is stored. */
import { isTooDeep, readFields, readSubject, retriedMessageId, tooDeepMessage } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { newId } from '../nats/id.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import { throwIfEntryRefused } from './get.ts';
import { checkBytes } from './parse-input.ts';
import type { Entity } from './views.ts';

/** An entry to store: `type` is `<noun>.<verb>`. `messageId`: the same twice within 2 minutes is stored once. */
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
  const standing = await log.subjectAt(seq);
  if (standing === null || standing === subject) return { seq };
  // An agent has used the message id for something else, which must not keep this entry out of the log.
  const retried = await log.append(subject, payload, { messageId: retriedMessageId(messageId, newId()) });
  return { seq: retried.seq };
}

/**
 * Publishes an entry and waits until it is folded. If that takes too long it is stored all the same, and nothing is known
 * of it: a caller that was told to try again would store it twice.
 *
 * @throws AppError entry.refused: it is in the log, but changes nothing
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
 * Returns the entry as it would be stored in the log. @throws AppError input.bad, entry.large: what the fold would
 * refuse
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
