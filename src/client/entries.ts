/** Publishes entries to the log. Types and validation come from the machines' own schemas. */
import { type entrySchemas, readEntry, readSubject } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { ClientLink } from '../nats/client-link.ts';
import { checkBytes, checkId } from '../service/parse-input.ts';

type Areas = {
  readonly worker: 'worker';
  readonly task: 'task';
  readonly queue: 'queue';
  readonly 'own.worker': 'ownWorker';
  readonly 'own.task': 'ownTask';
  readonly 'own.queue': 'ownQueue';
};
/** What an entry is about. `own.…` requires operator credentials. */
export type EntryEntity = keyof Areas;
export type EntryType<Entity extends EntryEntity> = keyof EntryInputs[Entity] & string;
export type EntryFields<Entity extends EntryEntity, Type extends EntryType<Entity>> = EntryInputs[Entity][Type];

/** Input fields by entity and entry type. */
type EntryInputs = {
  [Entity in EntryEntity]: {
    [Type in keyof (typeof entrySchemas)[Areas[Entity]]]: InputOf<(typeof entrySchemas)[Areas[Entity]][Type]>;
  };
};
type InputOf<Schema> = Schema extends { readonly _zod: { readonly input: infer Fields } } ? Fields : never;

/**
 * `seq`: position in the log. `duplicate`: an entry with this `messageId` already existed, and `seq` is its position.
 */
export type Stored = { readonly seq: number; readonly duplicate: boolean };
export type Publish = <Entity extends EntryEntity, Type extends EntryType<Entity>>(
  entity: Entity,
  id: string,
  type: Type,
  data?: EntryFields<Entity, Type>,
  options?: { readonly messageId?: string },
) => Promise<Stored>;

export const createPublish =
  (link: ClientLink, fleet: string): Publish =>
  async (entity, id, type, data, { messageId } = {}) => {
    const fields: object = data ?? {};
    checkId(entity.replace(/^own\./, ''), id);
    const tail = `${entity}.${id}.${type}`;
    checkEntry(`stopgate.${fleet}.${tail}`, type, fields);
    const stored = await link.publish(tail, fields, messageId);
    if (entity !== 'queue') await throwIfRefused(link, entity.replace(/^own\./, ''), id, stored.seq);
    return stored;
  };

const timeoutMs = 5_000;

/**
 * Asks whether the fold refused a stored entry. Returns normally if no service answers, because the entry is stored
 * anyway.
 * @throws AppError entry.refused
 */
async function throwIfRefused(link: ClientLink, entity: string, id: string, seq: number): Promise<void> {
  try {
    await link.request('get', `${entity}.${id}`, { entry: seq }, timeoutMs);
  } catch (error) {
    if (error instanceof AppError && error.code === 'entry.refused') throw error;
  }
}

/** @throws AppError input.bad, entry.large */
function checkEntry(subject: string, type: string, fields: object): void {
  const address = readSubject(subject);
  if (address === null) throw new AppError('input.bad', `'${subject}' is for the service only; it cannot be published`);
  if ('code' in address) throw new AppError('input.bad', address.message);
  const text = JSON.stringify(fields);
  const bytes = Buffer.byteLength(text);
  checkBytes('entry', bytes);
  const entry = readEntry(subject, text, bytes);
  if (entry !== null && 'code' in entry)
    throw new AppError('input.bad', `this is not a valid ${type}: ${entry.message}`, { issues: entry.issues });
}
