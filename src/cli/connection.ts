/** How a command reaches the service: which server, which fleet, which credentials. */
import { loadConfig, refuseOtherService } from '../config/config.ts';
import { defaultCredentials } from '../config/store.ts';
import { privateInbox } from '../nats/permissions.ts';
import type { Requester } from '../nats/requester.ts';
import type { Io } from '../terminal/process-io.ts';

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
  return { url: resolved.nats, credsFile, inboxPrefix, fleet: resolved.fleet, name: 'stopgate cli' };
}

/** Loads the NATS client when it is used, so that help and bad usage do not wait for it. */
export async function connect(place: Awaited<ReturnType<typeof resolvePlace>>): Promise<Requester> {
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
    return await use(requester, resolved.fleet);
  } finally {
    await requester.close();
  }
}
