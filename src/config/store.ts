/**
 * Reads the `.stopgate` folder, where `stopgate dev` keeps its log, addresses and credentials for commands and hooks.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isId } from '../../machines/values/id.ts';
import { readPlainFile } from '../plain-file.ts';
import { isTrustedFile } from '../service-file.ts';
import { givenCredentials } from './own-address.ts';
import { isLoopback, isNatsUrl, readHttpAddress } from './values.ts';

const storeName = '.stopgate';

/** `service.json`. It remains after a service was killed, so readers must check whether `pid` still runs. */
export type ServiceFile = {
  readonly nats: string;
  /** Null if the service has no HTTP. */
  readonly http: string | null;
  readonly fleet: string;
  readonly pid: number;
};

/** `service` is null if the folder has no valid `service.json`. */
export type Store = { readonly folder: string; readonly service: ServiceFile | null };

/**
 * Finds the nearest store with a service, otherwise the nearest store, in `cwd` or a folder above, up to `home` or the
 * root. Ignores another user's `service.json` (`isTrustedFile`).
 */
export function findStore(cwd: string, home = homedir()): Store | null {
  const stores = [...foldersAbove(cwd, home)]
    .map((folder) => join(folder, storeName))
    .filter((folder) => statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    .map((folder): Store => ({ folder, service: readService(join(folder, 'service.json'), cwd) }));
  return stores.find(({ service }) => service !== null) ?? stores[0] ?? null;
}

function* foldersAbove(cwd: string, home: string): Generator<string> {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    yield folder;
    if (folder === home || folder === dirname(folder)) return;
  }
}

/** Returns null unless the file can be read, trusted and understood. */
function readService(path: string, cwd: string): ServiceFile | null {
  try {
    if (!isTrustedFile(path, cwd)) return null;
    return toService(JSON.parse(readPlainFile(path)));
  } catch {
    return null; // missing, or being written
  }
}

/** Returns null if the data are not valid. */
function toService(data: unknown): ServiceFile | null {
  const { nats, http, fleet, pid } = data as Readonly<Record<keyof ServiceFile, unknown>>;
  // The server of dev listens on loopback, so somebody else wrote any other address.
  if (typeof nats !== 'string' || !isNatsUrl(nats) || !isLoopback(toUrl(nats)?.hostname ?? '')) return null;
  if (http !== null && (typeof http !== 'string' || !isLoopback(readHttpAddress(http)?.host ?? ''))) return null;
  if (typeof fleet !== 'string' || !isId(fleet)) return null;
  return Number.isSafeInteger(pid) && (pid as number) > 0 ? { nats, http, fleet, pid: pid as number } : null;
}

type CredentialsRole = 'operator' | 'service' | 'runner' | 'check';

/**
 * The credentials to connect with: the given ones, otherwise those of the store for `role`, provided that `nats` is the
 * store's own server, since no other server may see them. Undefined means none: connect as an agent.
 * @throws AppError config.bad
 */
export function defaultCredentials(
  config: Parameters<typeof givenCredentials>[0] & { readonly store: Store | null },
  role: CredentialsRole,
): string | undefined {
  const { nats, creds, store } = config;
  if (creds !== null) return givenCredentials(config);
  if (store === null || store.service === null || !isSameServer(nats, store.service.nats)) return undefined;
  const path = join(store.folder, 'credentials', `${role}.json`);
  try {
    accessSync(path, constants.R_OK);
    // A link in a checkout could point to any file of the user.
    return realpathSync(path) === join(realpathSync(dirname(store.folder)), '.stopgate/credentials', `${role}.json`)
      ? path
      : undefined;
  } catch {
    return undefined;
  }
}

function toUrl(text: string): URL | null {
  const url = text.includes('://') ? text : `nats://${text}`;
  return URL.canParse(url) ? new URL(url) : null;
}

/** Always false for a URL with a user, which has its own credentials. */
function isSameServer(one: string, other: string): boolean {
  const here = toUrl(one);
  const there = toUrl(other);
  if (here === null || there === null || here.username !== '') return false;
  const address = ({ protocol, hostname, port }: URL) => `${protocol}//${hostname.toLowerCase()}:${port || '4222'}`;
  return address(here) === address(there);
}
