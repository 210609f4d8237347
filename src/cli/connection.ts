/** Resolves how a command reaches the service: server, fleet and credentials. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Client } from '../client/index.ts';
import { loadConfig, refuseOtherService } from '../config/config.ts';
import { givenCredentials } from '../config/own-address.ts';
import { defaultCredentials } from '../config/store.ts';
import { AppError } from '../errors.ts';
import { folderOfServer } from '../nats/embedded/server-process.ts';
import { privateInboxPrefix } from '../nats/permissions.ts';
import type { Requester } from '../nats/requester.ts';
import type { Io } from '../terminal/process-io.ts';
import { clean } from '../terminal/text.ts';
import { programName } from './program-name.ts';

export type ServiceAddress = {
  readonly nats: string | undefined;
  readonly creds: string | undefined;
  readonly fleet: string | undefined;
  readonly config: string | undefined;
  readonly context: string | undefined;
};

/**
 * Resolves the options of a requester. Uses the given credentials, otherwise the operator's if they are found,
 * otherwise none (an agent's).
 * @throws AppError config.bad
 */
export async function resolveAddress(
  { nats, creds, fleet, config, context }: ServiceAddress,
  { cwd, env }: Io,
  as: 'operator' | 'agent' = 'operator',
) {
  // Commands do not use HTTP, so a bad address in a variable must not stop them.
  const resolved = await loadConfig({
    flags: { nats, creds, fleet, config, http: 'off' },
    cwd,
    env,
    contexts: { named: context },
  });
  const credsFile = as === 'agent' ? givenCredentials(resolved) : defaultCredentials(resolved, 'operator');
  // Discovered credentials are the operator's, and nobody else may read its replies. Given ones may be anyone's.
  const inboxPrefix = credsFile !== undefined && resolved.creds === null ? privateInboxPrefix : undefined;
  return {
    url: resolved.nats,
    credsFile,
    inboxPrefix,
    fleet: resolved.fleet,
    name: 'stopgate cli',
    // Null if a server was named explicitly, which is then the right one.
    folder: resolved.natsIsDefault ? folderOf(resolved.filePath) : null,
    hasRules: resolved.fileText !== null,
    natsIsDefault: resolved.natsIsDefault,
    store: resolved.store,
  };
}

/** Tolerates a missing folder: `--config` may name a file in one. */
function folderOf(file: string): string {
  const folder = dirname(file);
  return existsSync(folder) ? realpathSync(folder) : folder;
}

type ResolvedAddress = Awaited<ReturnType<typeof resolveAddress>>;

/** Imports the NATS client on demand, which keeps help and usage errors fast. @throws AppError service.unreachable */
export async function connect(address: ResolvedAddress): Promise<Requester> {
  refuseOtherService(address);
  const { openRequester } = await import('../nats/requester.ts');
  return openRequester(address);
}

/**
 * Resolves the service for a command that acts as an agent. `address` describes it; `open` opens a client.
 * @throws AppError config.bad
 */
export async function connectAsAgent(
  address: ServiceAddress,
  io: Io,
  name: string,
): Promise<{ readonly address: string; readonly open: () => Promise<Client> }> {
  const resolved = await resolveAddress(address, io, 'agent');
  const { url: nats, credsFile, fleet } = resolved;
  const creds = credsFile === undefined ? {} : { creds: credsFile };
  return {
    address: `${nats} ${fleet}`,
    async open() {
      refuseOtherService(resolved);
      const { connect: connectClient } = await import('../client/index.ts');
      return connectClient({ nats, fleet, cwd: io.cwd, name, ...creds });
    },
  };
}

/** Connects, calls `use`, and always closes. @throws AppError service.unreachable and the errors of `use` */
export async function withRequester<Result>(
  address: ServiceAddress,
  io: Io,
  use: (requester: Requester, fleet: string) => Promise<Result>,
): Promise<Result> {
  const resolved = await resolveAddress(address, io);
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
 * Describes whose service answered if it belongs to another folder. With two projects on one machine, the first to
 * start has the default address.
 * @returns null if it belongs to this folder, or if that is unknown
 */
export function describeOtherFolder(
  { folder, hasRules, url }: Pick<ResolvedAddress, 'folder' | 'hasRules' | 'url'>,
  serverName: string,
): string | null {
  const other = folderOfServer(serverName);
  if (folder === null || other === null || other === folder) return null;
  const remedy = 'start "stopgate dev" here, or name the right server with --nats';
  return hasRules
    ? `the service at ${url} belongs to ${other} and does not follow the stopgate.yaml of this folder; ${remedy}`
    : `no service runs in this folder; using the one of ${other}, with its rules; ${remedy}`;
}

/**
 * Awaits a reply about a worker, task or queue. If the actor is unknown, the error names the fleet and the command that
 * lists the known ones.
 * @throws AppError actor.unknown, and the errors of `answer`
 */
export async function explainUnknown<Answer>(
  answer: Promise<Answer>,
  entity: 'worker' | 'task' | 'queue',
  fleet: string,
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'actor.unknown')) throw error;
    const where = error.message.endsWith(`in fleet ${fleet}`) ? '' : ` (fleet ${fleet})`;
    const message = `${error.message}${where}; "stopgate ${entity}s" lists the known ones`;
    throw new AppError('actor.unknown', message, { cause: error });
  }
}
