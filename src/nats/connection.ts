/** Opens connections to NATS. Only this folder imports @nats-io. */
import { readFileSync } from 'node:fs';
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import { connect as connectOverTcp, createInbox, credsAuthenticator } from './client-library.ts';

export type { NatsConnection } from '@nats-io/nats-core';

export type ConnectionOptions = {
  /** One or more, separated by commas; may hold user and password. */
  readonly url: string;
  /** A NATS `.creds` file, or JSON `{ "user", "pass" }` as the embedded server writes. */
  readonly credsFile?: string | undefined;
  readonly name: string;
  /** Reconnect for ever (a service), or fail soon (a command). */
  readonly patient: boolean;
  /** Where answers to it arrive; default `_INBOX`. */
  readonly inboxPrefix?: string | undefined;
  /** Default: over TCP. */
  readonly connect?: typeof connectOverTcp | undefined;
};

const inboxPrefixes = new WeakMap<NatsConnection, string>();

/** An inbox under the connection's own prefix. The server may keep others from it. */
export const newInbox = (nc: NatsConnection): string => createInbox(inboxPrefixes.get(nc));

/** @throws AppError service.unreachable: no server, or it refused the credentials */
export async function openConnection({
  url,
  credsFile,
  name,
  patient,
  inboxPrefix,
  connect = connectOverTcp,
}: ConnectionOptions): Promise<NatsConnection> {
  const { servers, ...inUrl } = readUrl(url);
  const auth = credsFile === undefined ? inUrl : readCreds(credsFile);
  try {
    const nc = await connect({
      ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
      servers,
      ...auth,
      name,
      timeout: 5_000,
      maxReconnectAttempts: patient ? -1 : 3,
      reconnectTimeWait: 250,
      reconnectJitter: 100,
      // A server that is gone without closing its side is noticed within twice this time.
      pingInterval: 5_000,
      maxPingOut: 2,
    });
    if (inboxPrefix !== undefined) inboxPrefixes.set(nc, inboxPrefix);
    return nc;
  } catch (cause) {
    const hint = 'start one with "stopgate dev", or name yours with --nats';
    throw new AppError(
      'service.unreachable',
      `no NATS server at ${servers.join(', ')}: ${(cause as Error).message}; ${hint}`,
      { cause },
    );
  }
}

function readUrl(url: string): { servers: string[]; user?: string; pass?: string; token?: string } {
  const servers: string[] = [];
  let auth: { user?: string; pass?: string; token?: string } = {};
  for (const text of url.split(',').map((part) => part.trim())) {
    const parsed = URL.canParse(text) ? new URL(text) : null;
    if (parsed === null || parsed.username === '') {
      servers.push(text);
      continue;
    }
    const user = decodeURIComponent(parsed.username);
    auth = parsed.password === '' ? { token: user } : { user, pass: decodeURIComponent(parsed.password) };
    servers.push(`${parsed.protocol}//${parsed.host}`);
  }
  return { servers, ...auth };
}

function readCreds(file: string) {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    throw new AppError('input.bad', `cannot read the credentials '${file}': ${(cause as Error).message}`, { cause });
  }
  if (bytes.toString('utf8').trimStart().startsWith('{')) {
    const { user, pass } = JSON.parse(bytes.toString('utf8')) as { user?: unknown; pass?: unknown };
    if (typeof user === 'string' && typeof pass === 'string') return { user, pass };
    throw new AppError('input.bad', `'${file}' holds no "user" and "pass"`);
  }
  return { authenticator: credsAuthenticator(bytes) };
}
