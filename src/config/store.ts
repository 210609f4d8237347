/**
 * The `.stopgate` folder, where `stopgate dev` keeps its log, its addresses and credentials, so that commands and hooks
 * find it without options. This file only reads it.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isId } from '../../machines/values/id.ts';
import { readPlainFile } from '../plain-file.ts';
import { givenCredentials } from './own-address.ts';
import { isLoopback, isNatsUrl, readHttpAddress } from './values.ts';

const storeName = '.stopgate';

/** `service.json`. It outlives a service that was killed: the reader must find out whether `pid` still runs. */
export type ServiceFile = {
  readonly nats: string;
  /** It is null if that service has no HTTP. */
  readonly http: string | null;
  readonly fleet: string;
  readonly pid: number;
};

/** `service` null: the folder exists, but no service has left its addresses. */
export type Store = { readonly folder: string; readonly service: ServiceFile | null };

/**
 * The nearest store with a service, in `cwd` or a folder above, as far as `home` or the root; else the nearest store.
 * Another user's `service.json` is ignored unless `cwd` is theirs as well: in a shared folder such as /tmp it would let
 * a stranger answer for us.
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

/** Null unless there is one that we can read, trust and understand. */
function readService(path: string, cwd: string): ServiceFile | null {
  try {
    const owners = [process.getuid?.(), statSync(cwd).uid];
    if (process.getuid !== undefined && !owners.includes(statSync(path).uid)) return null;
    return toService(JSON.parse(readPlainFile(path)));
  } catch {
    return null; // missing, or being written
  }
}

/** Returns null if it is not valid. */
function toService(data: unknown): ServiceFile | null {
  const { nats, http, fleet, pid } = data as Readonly<Record<keyof ServiceFile, unknown>>;
  // The server that dev starts listens on loopback: any other address was written by somebody else.
  if (typeof nats !== 'string' || !isNatsUrl(nats) || !isLoopback(toUrl(nats)?.hostname ?? '')) return null;
  if (http !== null && (typeof http !== 'string' || !isLoopback(readHttpAddress(http)?.host ?? ''))) return null;
  if (typeof fleet !== 'string' || !isId(fleet)) return null;
  return Number.isSafeInteger(pid) && (pid as number) > 0 ? { nats, http, fleet, pid: pid as number } : null;
}

export type Role = 'operator' | 'service' | 'runner' | 'check';

/**
 * The credentials to connect with: those that were given; else those of the store for `role`, if `nats` is the store's
 * own server, so that no other server ever sees them. Undefined: none, connect as an agent. @throws AppError config.bad
 */
export function defaultCredentials(
  config: Parameters<typeof givenCredentials>[0] & { readonly store: Store | null },
  role: Role,
): string | undefined {
  const { nats, creds, store } = config;
  if (creds !== null) return givenCredentials(config);
  if (store === null || store.service === null || !isSameServer(nats, store.service.nats)) return undefined;
  const path = join(store.folder, 'credentials', `${role}.json`);
  try {
    accessSync(path, constants.R_OK);
    // A link in a checkout could lead to any file of the user.
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

/** A URL with a user in it is never the same: it has its own credentials. */
function isSameServer(one: string, other: string): boolean {
  const [here, there] = [one, other].map(toUrl);
  if (!here || !there || here.username !== '') return false;
  const address = ({ protocol, hostname, port }: URL) => `${protocol}//${hostname.toLowerCase()}:${port || '4222'}`;
  return address(here) === address(there);
}
