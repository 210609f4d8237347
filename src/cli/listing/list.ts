/** workers, tasks, queues and escalations: all pages of a list as a table or JSON, once or repeatedly. */
import { type Presence, presences, workerStates } from '../../../machines/values/states.ts';
import { AppError } from '../../errors.ts';
import type { Requester } from '../../nats/requester.ts';
import { type Arguments, type Context, choice, type Flags, flag, option } from '../command.ts';
import { withRequester } from '../connection.ts';
import { clientArgs, readCount, readId, readTimeout, timeoutArg } from '../option-values.ts';
import { spellCommands } from '../program-name.ts';
import { type Filter, formatListing, type Listing } from './listing.ts';
import { watch } from './watch.ts';

export const listArgs = {
  limit: option('N', 'at most this many (default: all)'),
  watch: flag('keep watching: redraw a terminal each second, or print each change'),
  ...clientArgs,
  ...timeoutArg,
} as const satisfies Arguments;

export const stateArg = {
  state: choice('STATE', workerStates, 'only those in this state'),
} as const satisfies Arguments;
export const sortArg = {
  sort: choice(
    'USE',
    ['usd', 'tokens', 'turns'],
    'those first that have used most: usd, tokens or turns (default: by id)',
  ),
} as const satisfies Arguments;
export const queueArg = {
  queue: option('Q', 'only those in this queue'),
} as const satisfies Arguments;
export const agentArg = {
  agent: option('NAME', 'only workers of this agent, e.g. claude'),
} as const satisfies Arguments;
export const presenceArgs = {
  presence: choice('PRESENCE', presences, 'only workers with this presence'),
  stale: flag('only workers that have been silent for two minutes: --presence stale'),
} as const satisfies Arguments;

/** @throws AppError input.bad: they contradict each other */
export function readPresence({ presence, stale }: Flags<typeof presenceArgs>): Presence | undefined {
  if (stale && presence !== undefined && presence !== 'stale')
    throw new AppError('input.bad', `--stale and --presence ${presence} contradict each other`);
  return stale ? 'stale' : presence;
}

export async function list<View>(
  listing: Listing<View>,
  filter: Filter,
  { flags, io, out, commands }: Context<Flags<typeof listArgs> & { readonly sort?: string | undefined }>,
): Promise<number> {
  if (filter.queue !== undefined) readId('queue', filter.queue);
  const most =
    flags.limit === undefined ? Number.POSITIVE_INFINITY : readCount('--limit', flags.limit, 1, 1_000_000_000);
  const timeoutMs = readTimeout(flags.timeout);
  const wanted = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const read = async (requester: Requester): Promise<View[]> => {
    const { entity, order, keeps = () => true } = listing;
    if (order === undefined && listing.keeps === undefined)
      return readAll<View>(requester, entity, { wanted: { ...wanted, sort: flags.sort }, most, timeoutMs });
    const views = await readAll<View>(requester, entity, {
      wanted: { ...wanted, sort: flags.sort },
      most: Number.POSITIVE_INFINITY,
      timeoutMs,
    });
    const kept = views.filter(keeps);
    return (order === undefined ? kept : kept.sort(order)).slice(0, most);
  };
  const format = (views: readonly View[], fleet: string, width: number): string[] => {
    if (views.length > 0) return formatListing(listing, views, { colors: out.colors, width });
    return Object.keys(wanted).length > 0
      ? [`No ${listing.entity} in fleet '${fleet}' matches.`]
      : listing.empty(fleet).map((line) => spellCommands(line, io.env, commands));
  };
  if (flags.watch) return watch({ listing, read, format, place: flags, json: flags.json, io, out });
  return withRequester(flags, io, async (requester, fleet) => {
    const views = await read(requester);
    if (flags.json) await out.json(views);
    else await out.print(...format(views, fleet, out.width()));
    return 0;
  });
}

const pageMax = 100;
type Wanted = { readonly wanted: object; readonly most: number; readonly timeoutMs: number };

/** All pages of a list, up to `most`. @throws AppError those of a request */
export async function readAll<View>(
  requester: Requester,
  entity: string,
  { wanted, most, timeoutMs }: Wanted,
): Promise<View[]> {
  const views: View[] = [];
  let after: string | null = null;
  do {
    const limit = Math.min(pageMax, most - views.length);
    const body = { ...wanted, limit, ...(after === null ? {} : { after }) };
    const page = (await requester.request('list', `${entity}s`, body, timeoutMs)) as {
      items?: View[];
      next?: string | null;
    };
    if (!Array.isArray(page.items)) throw new AppError('service.unreachable', `the answer is not a list of ${entity}s`);
    views.push(...page.items);
    after = page.next ?? null;
  } while (after !== null && views.length < most);
  return views;
}
