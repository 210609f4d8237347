/**
 * Subjects of entries: `stopgate.<fleet>.<entity>.<id>.<noun>.<verb>`, with `own.` before the entity for entries that
 * only replicas and operators may publish.
 */
import { isId } from '../values/id.ts';
import { type Area, entrySchemas } from './index.ts';
import type { Refusal } from './refusal.ts';

export type Address = { readonly area: Area; readonly fleet: string; readonly id: string; readonly type: string };

const entities: Readonly<Record<Area, string>> = {
  worker: 'worker',
  task: 'task',
  queue: 'queue',
  ownWorker: 'worker',
  ownTask: 'task',
  ownQueue: 'queue',
  ownFleet: 'fleet',
};

export const entityOf = ({ area }: Pick<Address, 'area'>): string => entities[area];

const isOwn = (area: Area): boolean => area.startsWith('own');

export function subjectOf(address: Address): string {
  const { area, fleet, id, type } = address;
  return `stopgate.${fleet}.${isOwn(area) ? 'own.' : ''}${entityOf(address)}.${id}.${type}`;
}

// Maps, because the sender chooses the token: looking up `constructor` must find nothing.
const areas = areasByEntity((area) => !isOwn(area));
const ownAreas = areasByEntity(isOwn);

function areasByEntity(includes: (area: Area) => boolean): ReadonlyMap<string, Area> {
  const included = (Object.keys(entities) as Area[]).filter(includes);
  return new Map(included.map((area) => [entities[area], area]));
}

/** The tokens that follow the fleet in the subjects of its log, for entries and decisions. */
export const logHeads = [...areas.keys(), 'own', 'decision'];

/** Tells whether the log of the fleet stores this subject. Other subjects are requests. */
export function isLogSubject(subject: string, fleet: string): boolean {
  const [root, owner, head = '', ...tail] = subject.split('.');
  const isComplete = tail.length > 0 && tail.every((token) => token !== '' && !/\s/.test(token));
  return root === 'stopgate' && owner === fleet && logHeads.includes(head) && isComplete;
}

/** Returns null for the service's own output (`decision`, `dead`), which is not an entry. */
export function readSubject(subject: string): Address | Refusal | null {
  // Runs for every entry. Destructuring with a rest element takes three times as long as indexing.
  const tokens = subject.split('.');
  const [root, fleet = '', head = ''] = tokens;
  if (head === 'decision' || head === 'dead') return null;
  const first = head === 'own' ? 3 : 2;
  const entity = tokens[first] ?? '';
  const id = tokens[first + 1] ?? '';
  const noun = tokens[first + 2] ?? '';
  const verb = tokens[first + 3] ?? '';
  const refuse = (code: Refusal['code'], message: string): Refusal => ({
    code,
    message,
    issues: [],
    entity: isId(entity) ? entity : '_',
    id: isId(id) ? id : '_',
  });
  const area = (head === 'own' ? ownAreas : areas).get(entity);
  if (root !== 'stopgate' || area === undefined)
    return refuse('UNKNOWN_TYPE', `'${subject}' is not the subject of an entry`);
  if (!isId(fleet)) return refuse('BAD_ID', `'${fleet}' is not the id of a fleet`);
  if (!isId(id)) return refuse('BAD_ID', `'${id}' is not the id of a ${entity}`);
  const type = `${noun}.${verb}`;
  if (tokens.length > first + 4 || !Object.hasOwn(entrySchemas[area], type)) {
    const known = Object.keys(entrySchemas[area]).join(', ');
    const got = tokens
      .slice(first + 2)
      .filter((token) => token !== '')
      .join('.');
    return refuse('UNKNOWN_TYPE', `'${got}' is not an entry about a ${entity}; these are: ${known}`);
  }
  if (area === 'ownFleet' && id !== fleet) return refuse('BAD_ID', `'${id}' is not this fleet, '${fleet}'`);
  return { area, fleet, id: withoutSubject(id), type };
}

/**
 * Copies an id. In V8 a slice keeps the whole subject in memory, and the id lives as long as its actor. Parsing makes a
 * real copy.
 */
const withoutSubject = (id: string): string => JSON.parse(`"${id}"`) as string;

/**
 * Splits a subject of the log, valid or not, e.g. into `worker`, `w1`, `tool.used`. A decision belongs to its worker.
 * `worker.w1.decision`, which agents may publish, is not a decision: its type is `decision.`.
 */
export function topicOf(subject: string): { readonly entity: string; readonly id: string; readonly type: string } {
  const [, , ...tail] = subject.split('.');
  const [entity = '', id = '', noun = '', ...verb] = tail[0] === 'own' ? tail.slice(1) : tail;
  return entity === 'decision'
    ? { entity: 'worker', id, type: 'decision' }
    : { entity, id, type: `${noun}.${verb.join('.')}` };
}

/** Returns the wildcard subjects of one worker or task, without the prefix `stopgate.<fleet>.`. */
export function subjectTailsAbout(entity: 'worker' | 'task', id: string): string[] {
  const both = [`${entity}.${id}.>`, `own.${entity}.${id}.>`];
  return entity === 'worker' ? [...both, `decision.${id}`] : both;
}

/** Far more subjects than a fleet uses at a time. A full cache is emptied. */
const addressesMax = 20_000;

/**
 * Returns a caching `readSubject`. A log repeats the same subjects, and reading one takes as long as reading the rest
 * of its entry. Each reader of a log has its own cache.
 */
export function createSubjectReader(): typeof readSubject {
  const addresses = new Map<string, Address>();
  return (subject) => {
    const known = addresses.get(subject);
    if (known !== undefined) return known;
    const read = readSubject(subject);
    if (read === null || 'code' in read) return read;
    if (addresses.size >= addressesMax) addresses.clear();
    addresses.set(subject, read);
    return read;
  };
}
