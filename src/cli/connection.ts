/** Finds how a command reaches the service: which server, which fleet, which credentials. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Client } from '../client/index.ts';
import { loadConfig, refuseOtherService } from '../config/config.ts';
import { givenCredentials } from '../config/own-address.ts';
import { defaultCredentials } from '../config/store.ts';
import { AppError } from '../errors.ts';
import { folderOfServer } from '../nats/embedded/server-process.ts';
import { privateInbox } from '../nats/permissions.ts';
import type { Requester } from '../nats/requester.ts';
import type { Io } from '../terminal/process-io.ts';
import { clean } from '../terminal/text.ts';
import { programName } from './program-name.ts';

export type Place = {
  readonly nats: string | undefined;
  readonly creds: string | undefined;
  readonly fleet: string | undefined;
  readonly config: string | undefined;
};

/**
 * The options of a requester: with the credentials that were given, else the operator's if they are found, else as an
 * agent. @throws AppError config.bad
 */
export async function resolvePlace(
  { nats, creds, fleet, config }: Place,
  { cwd, env }: Io,
  as: 'operator' | 'agent' = 'operator',
) {
  // These commands do not use HTTP, so a bad address in a variable must not stop them.
  const resolved = await loadConfig({ flags: { nats, creds, fleet, config, http: 'off' }, cwd, env });
  const credsFile = as === 'agent' ? givenCredentials(resolved) : defaultCredentials(resolved, 'operator');
  // Credentials that we found are the operator's, and nobody else may hear its answers; given ones may be anyone's.
  const inboxPrefix = credsFile !== undefined && resolved.creds === null ? privateInbox : undefined;
  return {
    url: resolved.nats,
    credsFile,
    inboxPrefix,
    fleet: resolved.fleet,
    name: 'stopgate cli',
    // Null: a server was named, so it is the one that is meant.
    folder: resolved.natsIsDefault ? folderOf(resolved.filePath) : null,
    hasRules: resolved.fileText !== null,
    natsIsDefault: resolved.natsIsDefault,
    store: resolved.store,
  };
}

/** The folder need not be there: `--config` may name a file in one that is not. */
function folderOf(file: string): string {
  const folder = dirname(file);
  return existsSync(folder) ? realpathSync(folder) : folder;
}

type ResolvedPlace = Awaited<ReturnType<typeof resolvePlace>>;

/** Loads the NATS client when it is used, so that help and bad usage do not wait for it. @throws AppError service.unreachable */
export async function connect(place: ResolvedPlace): Promise<Requester> {
  refuseOtherService(place);
  const { openRequester } = await import('../nats/requester.ts');
  return openRequester(place);
}

/**
 * Finds the service for a command that acts as an agent, and returns its address and how a client of it is opened.
 * @throws AppError config.bad
 */
export async function connectAsAgent(
  where: Place,
  io: Io,
  name: string,
): Promise<{ readonly address: string; readonly open: () => Promise<Client> }> {
  const place = await resolvePlace(where, io, 'agent');
  const { url: nats, credsFile, fleet } = place;
  const creds = credsFile === undefined ? {} : { creds: credsFile };
  return {
    address: `${nats} ${fleet}`,
    async open() {
      refuseOtherService(place);
      const { connect: connectClient } = await import('../client/index.ts');
      return connectClient({ nats, fleet, cwd: io.cwd, name, ...creds });
    },
  };
}

/** Connects, calls `use`, and always closes. @throws AppError service.unreachable and those of `use` */
export async function withRequester<Result>(
  place: Place,
  io: Io,
  use: (requester: Requester, fleet: string) => Promise<Result>,
): Promise<Result> {
  const resolved = await resolvePlace(place, io);
  const requester = await connect(resolved);
  try {
    const other = describeOtherFolder(resolved, requester.serverName);
    if (other !== null)
      io.stderr.write(`stopgate: ${clean(other).replace('"stopgate ', `"${programName(io.env)} `)}\n`);
    return await use(requester, resolved.fleet);
  } finally {
    await requester.close();
  }
}

/**
 * Says whose service answers if it is not that of this folder: of two projects on one machine, the one that started
 * first has the default address. Null: it is this folder's, or not known to be another's.
 */
export function describeOtherFolder(
  { folder, hasRules, url }: Pick<ResolvedPlace, 'folder' | 'hasRules' | 'url'>,
  serverName: string,
): string | null {
  const other = folderOfServer(serverName);
  if (folder === null || other === null || other === folder) return null;
  const mend = 'start "stopgate dev" here, or name that server with --nats';
  return hasRules
    ? `${url} is the NATS server of the service in ${other}, which does not follow the stopgate.yaml of this folder; ${mend}`
    : `no service runs in this folder, so this is the one in ${other}, with its rules; ${mend}`;
}

/**
 * Awaits an answer about a worker, task or queue. If nobody knows it, the error says in which fleet it was looked for,
 * and how to find the one that was meant. @throws AppError actor.unknown, and those of `answer`
 */
export async function orNamed<Answer>(
  answer: Promise<Answer>,
  entity: 'worker' | 'task' | 'queue',
  fleet: string,
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'actor.unknown')) throw error;
    const place = error.message.endsWith(`in fleet ${fleet}`) ? '' : ` (fleet ${fleet})`;
    const message = `${error.message}${place}; "stopgate ${entity}s" lists those that there are`;
    throw new AppError('actor.unknown', message, { cause: error });
  }
}
