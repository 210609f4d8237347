/** workers, tasks, queues and escalations: all pages of a list as a table or JSON, once or again and again. */
import type { ArgsDef } from 'citty';
import { presences, workerStates } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Requester } from '../nats/requester.ts';
import type { Flags } from './arguments.ts';
import { type Context, serviceArgs, timeoutArg } from './command.ts';
import type { Colors } from './output.ts';
import { readCount, readId, readTimeout, withRequester } from './service-call.ts';
import { formatTable, type Row } from './table.ts';
import { watch } from './watch.ts';

export const listArgs = {
  limit: { type: 'string', valueHint: 'N', description: 'at most this many (default: all)' },
  watch: { type: 'boolean', description: 'go on: a terminal is redrawn each second, else each change is printed' },
  ...serviceArgs,
  ...timeoutArg,
} as const satisfies ArgsDef;

export const stateArg = {
  state: { type: 'enum', valueHint: 'STATE', options: [...workerStates], description: 'only those in this state' },
} as const satisfies ArgsDef;
export const queueArg = {
  queue: { type: 'string', valueHint: 'Q', description: 'only those of this queue' },
} as const satisfies ArgsDef;
export const presenceArg = {
  presence: {
    type: 'enum',
    valueHint: 'PRESENCE',
    options: [...presences],
    description: 'only those with this presence',
  },
} as const satisfies ArgsDef;

/** What a list shows. `idOf` names an actor, `steadyOf` is what of it must differ to be a change (clocks run always). */
export type Listing<View> = {
  readonly entity: 'worker' | 'task' | 'queue' | 'escalation';
  readonly headings: readonly string[];
  readonly rowOf: (view: View, colors: Colors) => Row;
  readonly idOf: (view: View) => string;
  readonly steadyOf: (view: View) => unknown;
  /** Where they come from, if it is no list of the service's own. */
  readonly read?: (readAll: ReadAll) => Promise<View[]>;
  /** What to print where the fleet has none. */
  readonly empty: (fleet: string) => string[];
};

type ReadAll = <Actor>(entity: 'worker' | 'task' | 'queue', filter: Filter) => Promise<Actor[]>;
export type Filter = Readonly<Record<string, string | undefined>>;

export async function list<View>(
  listing: Listing<View>,
  filter: Filter,
  { flags, io, out }: Context<Flags<typeof listArgs>>,
): Promise<number> {
  if (filter.queue !== undefined) readId('queue', filter.queue);
  const most =
    flags.limit === undefined ? Number.POSITIVE_INFINITY : readCount('--limit', flags.limit, 1, 1_000_000_000);
  const timeoutMs = readTimeout(flags.timeout);
  const wanted = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const read = async (requester: Requester): Promise<View[]> => {
    if (listing.read === undefined) return readAll<View>(requester, listing.entity, { wanted, most, timeoutMs });
    const everything = { most: Number.POSITIVE_INFINITY, timeoutMs };
    const views = await listing.read((entity, filter) => readAll(requester, entity, { wanted: filter, ...everything }));
    return views.slice(0, most);
  };
  const format = (views: readonly View[], fleet: string, width: number): string[] => {
    if (views.length > 0)
      return formatTable(
        listing.headings,
        views.map((view) => listing.rowOf(view, out.colors)),
        width,
      );
    return Object.keys(wanted).length > 0
      ? [`No ${listing.entity} in fleet '${fleet}' is like that.`]
      : listing.empty(fleet);
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

async function readAll<View>(
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
    if (!Array.isArray(page.items)) throw new AppError('service.unreachable', `the answer is no list of ${entity}s`);
    views.push(...page.items);
    after = page.next ?? null;
  } while (after !== null && views.length < most);
  return views;
}

/** `stopgate`, with the fleet where it is not the default one: for lines that are to be copied. */
export const spellCommand = (fleet: string, rest: string): string =>
  `  stopgate ${rest}${fleet === 'main' ? '' : ` --fleet ${fleet}`}`;
