/** Reads all pages of a list of actors and shows them as a table or JSON, once or continuously. */
import { setTimeout as pause } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { type ViewedPresence, viewedPresences, workerStates } from '../../../machines/values/states.ts';
import { AppError } from '../../errors.ts';
import type { Requester } from '../../nats/requester.ts';
import type { Output } from '../../terminal/output.ts';
import type { Io } from '../../terminal/process-io.ts';
import { cut, enterScreen, leaveScreen, repaint } from '../../terminal/text.ts';
import { type Arguments, type Context, choice, type Flags, flag, option } from '../command.ts';
import { connect, resolveAddress, type ServiceAddress, withRequester } from '../connection.ts';
import { clientArgs, countFrom, idOf, timeoutArg, timeoutMsDefault } from '../option-values.ts';
import { formatOutdated } from '../text/state-text.ts';
import { type Filter, formatListing, type Listing } from './listing.ts';

export const listArgs = {
  limit: option('N', 'list at most N (default: all)', countFrom(1, 1_000_000_000)),
  watch: flag('redraw every second on a terminal; otherwise print each change'),
  ...clientArgs,
  ...timeoutArg,
} as const satisfies Arguments;

export const presenceArgs = {
  presence: choice('PRESENCE', viewedPresences, 'only workers with this presence'),
  stale: flag('only workers that have been silent for two minutes; short for --presence stale'),
} as const satisfies Arguments;

/** Filters that several lists share. Each list picks those that it supports. */
export const filters = {
  state: choice('STATE', workerStates, 'only this state'),
  queue: option('Q', 'only this queue', idOf('queue')),
  agent: option('NAME', 'only workers of this agent, e.g. claude'),
  sort: choice('USE', ['usd', 'tokens', 'turns'], 'most used first (default: by id)'),
} as const satisfies Arguments;

/** @throws AppError input.bad if the options contradict each other */
export function readPresence({ presence, stale }: Flags<typeof presenceArgs>): ViewedPresence | undefined {
  if (stale && presence !== undefined && presence !== 'stale')
    throw new AppError('input.bad', `--stale and --presence ${presence} contradict each other; drop one of them`);
  return stale ? 'stale' : presence;
}

export async function list<View>(
  listing: Listing<View>,
  filter: Filter,
  { flags, io, out, asTyped }: Context<Flags<typeof listArgs> & { readonly sort?: string | undefined }>,
): Promise<number> {
  const all = Number.POSITIVE_INFINITY;
  const limit = flags.limit ?? all;
  const timeoutMs = flags.timeout ?? timeoutMsDefault;
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const read = async (requester: Requester): Promise<View[]> => {
    const { entity, order, keeps } = listing;
    // Our own order and filter need the whole list.
    const needsAll = order !== undefined || keeps !== undefined;
    const views = await readAll<View>(requester, entity, {
      filter: { ...given, sort: flags.sort },
      limit: needsAll ? all : limit,
      timeoutMs,
    });
    const kept = keeps === undefined ? views : views.filter(keeps);
    return (order === undefined ? kept : kept.sort(order)).slice(0, limit);
  };
  const format = (views: readonly View[], fleet: string, width: number): string[] => {
    if (views.length > 0) return formatListing(listing, views, { colors: out.colors, width });
    return Object.keys(given).length > 0
      ? [`No ${listing.entity} in fleet '${fleet}' matches.`]
      : listing.empty(fleet).map(asTyped);
  };
  if (flags.watch) return watch({ listing, read, format, address: flags, json: flags.json, io, out });
  return withRequester(flags, io, async (requester, fleet) => {
    const views = await read(requester);
    if (flags.json) await out.json(views);
    else await out.print(...format(views, fleet, out.width()));
    return 0;
  });
}

const pageMax = 100;
type ListRequest = { readonly filter: object; readonly limit: number; readonly timeoutMs: number };

/** Reads all pages of a list, up to `limit` items. @throws AppError the errors of a request */
export async function readAll<View>(
  requester: Requester,
  entity: string,
  { filter, limit, timeoutMs }: ListRequest,
): Promise<View[]> {
  const views: View[] = [];
  let after: string | null = null;
  do {
    const pageLimit = Math.min(pageMax, limit - views.length);
    const body = { ...filter, limit: pageLimit, ...(after === null ? {} : { after }) };
    const page = (await requester.request('list', `${entity}s`, body, timeoutMs)) as {
      items?: View[];
      next?: string | null;
    };
    if (!Array.isArray(page.items)) throw new AppError('service.unreachable', `the answer is not a list of ${entity}s`);
    views.push(...page.items);
    after = page.next ?? null;
  } while (after !== null && views.length < limit);
  return views;
}

const everyMs = 1_000;

type Watch<View> = {
  readonly listing: Listing<View>;
  readonly read: (requester: Requester) => Promise<View[]>;
  readonly format: (views: readonly View[], fleet: string, width: number) => string[];
  readonly address: ServiceAddress;
  readonly json: boolean;
  readonly io: Io;
  readonly out: Output;
};

/**
 * Redraws a screen or prints each change until Ctrl-C, and restores the terminal. Tolerates an unreachable service
 * after the first read.
 * @throws AppError if the first read fails
 */
async function watch<View>(options: Watch<View>): Promise<number> {
  const { read, address, json, io, out } = options;
  const end = AbortSignal.any([io.interrupt(), out.closed]);
  const connection = await resolveAddress(address, io);
  const show = json
    ? changesAsJson(options)
    : io.isTTY
      ? screen(options, connection.fleet)
      : changesAsTable(options, connection.fleet);
  const link = createLink(() => connect(connection));
  let views: View[] | null = null;
  try {
    while (!end.aborted) {
      try {
        views = (await untilAborted(link.use(read), end)) ?? views;
        if (views !== null && !end.aborted) await show.draw(views, null);
      } catch (error) {
        if (!(error instanceof AppError) || views === null) throw error;
        await show.draw(views, error.message);
      }
      await pause(everyMs, undefined, { signal: end }).catch(() => undefined);
    }
    return 0;
  } finally {
    await show.close();
    await link.close();
  }
}

/** Creates a connection that is reopened after a failure. */
export function createLink(open: () => Promise<Requester>) {
  let requester: Requester | null = null;
  return {
    async use<Result>(request: (requester: Requester) => Promise<Result>): Promise<Result> {
      requester ??= await open();
      try {
        return await request(requester);
      } catch (error) {
        if (error instanceof AppError && error.code === 'service.unreachable') {
          await requester?.close();
          requester = null;
        }
        throw error;
      }
    },
    close: async () => requester?.close(),
  };
}

/** Returns undefined if `end` aborts first; the answer is then dropped. */
async function untilAborted<Result>(answer: Promise<Result>, end: AbortSignal): Promise<Result | undefined> {
  let onEnd = () => {};
  const ended = new Promise<undefined>((done) => {
    onEnd = () => done(undefined);
  });
  end.addEventListener('abort', onEnd, { once: true });
  answer.catch(() => undefined);
  return Promise.race([answer, ended]).finally(() => end.removeEventListener('abort', onEnd));
}

type Show<View> = {
  /** `fault` says why `views` are outdated, or is null. */
  readonly draw: (views: readonly View[], fault: string | null) => Promise<void>;
  readonly close: () => Promise<void>;
};

function screen<View>({ listing, format, io, out }: Watch<View>, fleet: string): Show<View> {
  let entered = false;
  // The last body that was read. Ages stop counting while the service is unreachable.
  let body: readonly string[] = [];
  let readMs = Date.now();
  return {
    async draw(views, fault) {
      const { columns, rows } = io.size();
      if (fault === null) {
        body = format(views, fleet, columns);
        readMs = Date.now();
      }
      const title = `${listing.entity}s of ${fleet}: ${views.length}  (every second; Ctrl-C exits)`;
      const head =
        fault === null
          ? out.colors.dim(cut(title, columns))
          : out.colors.yellow(formatOutdated(readMs, fault, columns));
      const lines = [
        head,
        ...(fault === null ? body : body.map((line) => out.colors.dim(stripVTControlCharacters(line)))),
      ];
      const hidden = lines.length - (rows - 1);
      const shown =
        hidden > 0
          ? [...lines.slice(0, rows - 2), cut(`… ${hidden + 1} more lines; use --state or --limit`, columns)]
          : lines;
      await out.write(`${entered ? '' : enterScreen}${repaint(shown)}`);
      entered = true;
    },
    close: async () => {
      if (entered) await out.write(leaveScreen);
    },
  };
}

function changesAsTable<View>({ listing, format, out }: Watch<View>, fleet: string): Show<View> {
  let before: string | null = null;
  return {
    async draw(views, fault) {
      const now = JSON.stringify(views.map(listing.steadyOf));
      if (fault !== null || now === before) return;
      if (before !== null) await out.print('');
      before = now;
      await out.print(...format(views, fleet, out.width()));
    },
    close: async () => undefined,
  };
}

/** Prints a line per new or changed actor, and `{ "<entity>": id, "gone": true }` for one that left the list. */
function changesAsJson<View>({ listing, out }: Watch<View>): Show<View> {
  const before = new Map<string, string>();
  return {
    async draw(views, fault) {
      if (fault !== null) return;
      const here = new Set(views.map(listing.idOf));
      for (const id of [...before.keys()].filter((each) => !here.has(each))) {
        before.delete(id);
        await out.json({ [listing.entity]: id, gone: true });
      }
      for (const view of views) {
        const now = JSON.stringify(listing.steadyOf(view));
        if (before.get(listing.idOf(view)) === now) continue;
        before.set(listing.idOf(view), now);
        await out.json(view);
      }
    },
    close: async () => undefined,
  };
}
