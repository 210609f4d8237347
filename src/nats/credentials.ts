/** Reads NATS credentials from a URL or a credentials file. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Authenticator, credsAuthenticator } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import { tryJson } from '../text/json-text.ts';

type Login =
  | { readonly user: string; readonly pass: string }
  | { readonly token: string }
  | { readonly authenticator: Authenticator };

/** Absolute paths of PEM files. They are read at each connect, so renewed certificates are used after a reconnect. */
export type TlsFiles = { readonly certFile?: string; readonly keyFile?: string; readonly caFile?: string };

export type Credentials = {
  /** Absent if the certificate alone identifies the client, or the URL names the user. */
  readonly login?: Login;
  readonly tls?: TlsFiles;
};

/**
 * Splits a comma-separated URL list into servers without credentials, and the credentials. Keeps a WebSocket's path.
 */
export function readUrl(url: string): { servers: string[]; user?: string; pass?: string; token?: string } {
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
    servers.push(
      `${parsed.protocol}//${parsed.host}${isWebSocketUrl(text) ? `${parsed.pathname}${parsed.search}` : ''}`,
    );
  }
  return { servers, ...auth };
}

export const isWebSocketUrl = (server: string): boolean => /^wss?:\/\//i.test(server);

/**
 * Reads a NATS `.creds` file, or JSON with these fields: `user` and `pass` (as the embedded server writes them), or
 * `creds` (path of a `.creds` file); `cert` and `key` (client certificate); `ca` (certificate authorities that replace
 * those of Node). Paths are relative to the file.
 * @throws AppError input.bad
 */
export function readCredentials(file: string): Credentials {
  const bytes = read(file);
  const text = bytes.toString('utf8');
  if (text.trimStart().startsWith('{')) return readForm(file, text);
  if (!/BEGIN NATS USER JWT/.test(text))
    throw new AppError('input.bad', `'${file}' is not a NATS credentials file, nor JSON with ${formHint}`);
  return { login: { authenticator: credsAuthenticator(bytes) } };
}

const names = ['user', 'pass', 'creds', 'cert', 'key', 'ca'] as const;
type Form = Partial<Record<(typeof names)[number], string>>;
const formHint = '"user" and "pass", or "cert" and "key"';

function readForm(file: string, text: string): Credentials {
  const form = tryJson(text) as Form | null;
  const unknown = Object.keys(form ?? {}).find((name) => !names.some((known) => known === name));
  if (unknown !== undefined)
    throw new AppError(
      'input.bad',
      `'${file}': unknown field ${JSON.stringify(unknown)}; allowed: ${names.join(', ')}`,
    );
  if (form === null || Object.values(form).some((value) => typeof value !== 'string' || value === ''))
    throw new AppError('input.bad', `'${file}' has no ${formHint}: it must be JSON whose fields are non-empty strings`);
  const { user, pass, creds, cert, key, ca } = form;
  const toPath = (path: string) => resolve(dirname(file), path);
  const together = (one: unknown, other: unknown) => (one === undefined) === (other === undefined);
  if (!together(user, pass) || !together(cert, key) || (user ?? creds ?? cert ?? ca) === undefined)
    throw new AppError('input.bad', `'${file}' has no ${formHint}; each goes with the other`);
  if (user !== undefined && creds !== undefined)
    throw new AppError('input.bad', `'${file}' has both "user" and "creds": a connection has one user`);
  const tls = {
    ...(cert !== undefined && key !== undefined && { certFile: toPath(cert), keyFile: toPath(key) }),
    ...(ca !== undefined && { caFile: toPath(ca) }),
  };
  if (Object.keys(tls).length > 0) tryTls(file, tls);
  return {
    ...(user !== undefined && pass !== undefined && { login: { user, pass } }),
    ...(creds !== undefined && { login: { authenticator: credsAuthenticator(read(toPath(creds))) } }),
    ...(Object.keys(tls).length > 0 && { tls }),
  };
}

/** Reports bad files at startup instead of as a failed connection. @throws AppError input.bad */
function tryTls(file: string, files: TlsFiles): void {
  try {
    createSecureContext(readTls(files));
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const why = (cause as Error).message;
    throw new AppError('input.bad', `'${file}' names files that are not a certificate and its key in PEM: ${why}`, {
      cause,
    });
  }
}

/** Reads the files for a TLS connection. @throws AppError input.bad */
export const readTls = ({ certFile, keyFile, caFile }: TlsFiles) => ({
  ...(certFile !== undefined && { cert: read(certFile) }),
  ...(keyFile !== undefined && { key: read(keyFile) }),
  ...(caFile !== undefined && { ca: read(caFile) }),
});

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      ENOENT: 'there is no such file',
      EACCES: 'permission denied; only the user who started stopgate may read them, so name others with --creds',
    };
    const why = reasons[code ?? ''] ?? message;
    throw new AppError('input.bad', `cannot read the credentials '${file}': ${why}`, { cause });
  }
}
