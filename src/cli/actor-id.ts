/** Finds the worker or task that a person means by the beginning of its id, as git finds commits. */
import { AppError } from '../errors.ts';
import type { Requester } from '../nats/requester.ts';
import { explainUnknown } from './connection.ts';
import { timeoutMsDefault } from './option-values.ts';

/** Shorter beginnings are more likely a mistyped id. */
const prefixMin = 4;
const namedMax = 5;

type Entity = 'worker' | 'task';
type Search = {
  readonly requester: Pick<Requester, 'request'>;
  readonly entity: Entity;
  readonly fleet: string;
  readonly note: (line: string) => void;
  readonly timeoutMs?: number;
};

/**
 * Requests the view of an actor. If no actor has this id, it may be the beginning of one id; the actor is then named on
 * stderr.
 * @throws AppError actor.unknown, also if several ids begin with it, and the errors of a request
 */
export async function getActor<View>(id: string, search: Search): Promise<View> {
  const { requester, entity, fleet, note, timeoutMs = timeoutMsDefault } = search;
  const get = (name: string) => requester.request('get', `${entity}.${name}`, {}, timeoutMs);
  try {
    return (await explainUnknown(get(id), entity, fleet)) as View;
  } catch (error) {
    if (!isUnknown(error)) throw error;
    const found = await findByPrefix(id, search);
    if (found === null) throw (await isOther(id, search)) ? nameOther(error, id, entity) : error;
    note(`stopgate: ${entity} ${found}`);
    return (await explainUnknown(get(found), entity, fleet)) as View;
  }
}

const otherOf = { worker: 'task', task: 'worker' } as const;

/** Whether a worker has the id that was given for a task, or the other way round. */
async function isOther(id: string, { requester, entity, timeoutMs = timeoutMsDefault }: Search): Promise<boolean> {
  return requester.request('get', `${otherOf[entity]}.${id}`, {}, timeoutMs).then(
    () => true,
    () => false,
  );
}

const nameOther = (cause: unknown, id: string, entity: Entity): AppError =>
  new AppError('actor.unknown', `${entity} ${id} is unknown, but there is a ${otherOf[entity]} ${id}`, { cause });

/**
 * Finds the id of a worker for a command that reads the log. Returns `id` unchanged if it is the id of a worker, if no
 * id begins with it, or if no service can be asked: the log may have entries about workers that the fleet has
 * forgotten.
 * @throws AppError actor.unknown if several ids begin with it
 */
export async function findWorker(id: string, search: Omit<Search, 'entity'>): Promise<string> {
  const { requester, note, timeoutMs = timeoutMsDefault } = search;
  try {
    await requester.request('get', `worker.${id}`, {}, timeoutMs);
    return id;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const found = isUnknown(error) ? await findByPrefix(id, { ...search, entity: 'worker' }) : null;
    if (found !== null) note(`stopgate: worker ${found}`);
    return found ?? id;
  }
}

/**
 * Names the actors whose ids begin with `id`, if no actor has this id. Called by commands that programs use, which take
 * only exact ids. Returns null if there are none.
 */
export async function describeIdsWithPrefix(id: string, search: Omit<Search, 'note'>): Promise<string | null> {
  const { requester, entity, timeoutMs = timeoutMsDefault } = search;
  if (id.length < prefixMin) return null;
  try {
    await requester.request('get', `${entity}.${id}`, {}, timeoutMs);
    return null;
  } catch (error) {
    const ids = isUnknown(error) ? await listByPrefix(id, search) : [];
    return ids.length === 0 ? null : nameSome(ids);
  }
}

/** Returns the only one of `ids` that begins with `id`, or null. @throws AppError actor.unknown if there are several */
export function onlyIdWithPrefix(entity: Entity, id: string, ids: readonly string[]): string | null {
  const matches = id.length < prefixMin ? [] : ids.filter((each) => each.startsWith(id));
  if (matches.length < 2) return matches[0] ?? null;
  const message = `${entity} ${id} is unknown, and several ids begin with that: ${nameSome(matches)}`;
  throw new AppError('actor.unknown', message);
}

const findByPrefix = async (id: string, search: Omit<Search, 'note'>): Promise<string | null> =>
  onlyIdWithPrefix(search.entity, id, await listByPrefix(id, search));

/** Lists are sorted by id, so the ids that begin with `id` follow it. Reads one more than `nameSome` names. */
async function listByPrefix(id: string, { requester, entity, timeoutMs = timeoutMsDefault }: Omit<Search, 'note'>) {
  if (id.length < prefixMin) return [];
  const page = await requester.request('list', `${entity}s`, { after: id, limit: namedMax + 1 }, timeoutMs);
  const { items } = page as { readonly items?: readonly Readonly<Record<string, unknown>>[] };
  return (items ?? []).map((item) => String(item[entity])).filter((each) => each.startsWith(id));
}

function nameSome(ids: readonly string[]): string {
  const named = ids.slice(0, namedMax).join(', ');
  return ids.length > namedMax ? `${named} and more` : named;
}

const isUnknown = (error: unknown): boolean => error instanceof AppError && error.code === 'actor.unknown';
