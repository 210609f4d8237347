/** publish: an entry from an edge of this process (HTTP, hooks) into the log, checked before it is stored. */
import { isTooDeep, readFields, readSubject, tooDeepMessage } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { EventLog } from '../nats/event-log.ts';
import { checkBytes } from './decide.ts';
import type { NewEntry } from './service.ts';

export type Publisher = { publish(entry: NewEntry): Promise<{ seq: number }> };

export function createPublisher(fleet: string, log: EventLog): Publisher {
  return {
    async publish(entry) {
      const { subject, payload } = checkEntry(fleet, entry);
      const { seq } = await log.append(subject, payload, { messageId: entry.messageId });
      return { seq };
    },
  };
}

/** As it would go into the log. @throws AppError input.bad, entry.large: what the fold would not take */
export function checkEntry(
  fleet: string,
  { entity, id, type, data }: NewEntry,
): { readonly subject: string; readonly payload: string } {
  const subject = `stopgate.${fleet}.${entity}.${id}.${type}`;
  const address = readSubject(subject);
  if (address === null) throw new AppError('input.bad', `'${subject}' is no subject of an entry`);
  if ('code' in address) throw new AppError('input.bad', address.message);
  if (isTooDeep(data)) throw new AppError('input.bad', tooDeepMessage);
  const payload = JSON.stringify(data);
  checkBytes('entry', Buffer.byteLength(payload));
  const entry = readFields(address, data);
  if ('code' in entry) throw new AppError('input.bad', entry.message, { issues: entry.issues });
  return { subject, payload };
}
