/** How a command reaches the service: which server, which fleet, which credentials. */
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadConfig, refuseOtherService } from '../config/config.ts';
import { defaultCredentials } from '../config/store.ts';
import { folderOfServer } from '../nats/embedded/server-name.ts';
import { privateInbox } from '../nats/permissions.ts';
import type { Requester } from '../nats/requester.ts';
import type { Io } from '../terminal/process-io.ts';
import { clean } from '../terminal/text.ts';

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
  refuseOtherService(resolved);
  const credsFile = as === 'agent' ? (resolved.creds ?? undefined) : defaultCredentials(resolved, 'operator');
  // Credentials that we found are the operator's, and nobody else may hear its answers; given ones may be anyone's.
  const inboxPrefix = credsFile !== undefined && resolved.creds === null ? privateInbox : undefined;
  return {
    ...{ url: resolved.nats, credsFile, inboxPrefix, fleet: resolved.fleet, name: 'stopgate cli' },
    // Null: a server was named, or this folder has no rules of its own; then any service will do.
    ownFolder: resolved.natsIsDefault && resolved.fileText !== null ? realpathSync(dirname(resolved.filePath)) : null,
  };
}

type ResolvedPlace = Awaited<ReturnType<typeof resolvePlace>>;

/** Loads the NATS client when it is used, so that help and bad usage do not wait for it. */
export async function connect(place: ResolvedPlace): Promise<Requester> {
  const { openRequester } = await import('../nats/requester.ts');
  return openRequester(place);
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
    if (other !== null) io.stderr.write(`stopgate: ${clean(other)}\n`);
    return await use(requester, resolved.fleet);
  } finally {
    await requester.close();
  }
}

/** Of two projects on one machine, the one that started first has the default address. Null: it is not known to be another. */
export function describeOtherFolder(
  { ownFolder, url }: Pick<ResolvedPlace, 'ownFolder' | 'url'>,
  serverName: string,
): string | null {
  const folder = folderOfServer(serverName);
  if (ownFolder === null || folder === null || folder === ownFolder) return null;
  const text = `${url} is the NATS server of the service in ${folder}, which does not follow the stopgate.yaml of this folder`;
  return `${text}; start "stopgate dev" here, or name that server with --nats`;
}
