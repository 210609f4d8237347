/** The values that flags, variables and stopgate.yaml have in common: how each is written and what it must be. */
import { isIPv4 } from 'node:net';
import type { LogLevel } from '../log.ts';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies LogLevel[];
export const isLogLevel = (text: string): text is LogLevel => logLevels.some((level) => level === text);

/**
 * One or more servers, separated by commas; each `HOST`, `HOST:PORT`, `nats://…` or `tls://…`, or all of them `ws://…` or
 * all `wss://…`. Stays as written.
 */
export function isNatsUrl(text: string): boolean {
  const parts = text.split(',').map((part) => part.trim());
  const webSockets = new Set(parts.map((part) => /^wss?:/i.exec(part)?.[0].toLowerCase()));
  return parts.every(isServer) && webSockets.size === 1;
}
export const natsFault =
  'is not a NATS URL, such as nats://127.0.0.1:4222; ws:// and wss:// do not go together with another kind';

function isServer(text: string): boolean {
  const url = text.includes('://') ? text : `nats://${text}`;
  if (/\s/.test(text) || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return ['nats:', 'tls:', 'ws:', 'wss:'].includes(protocol) && hostname !== '' && hasDecodableUser(url);
}

/** Whoever connects decodes them, and a "%" that begins no escape ends that with an error. True: it is no URL at all. */
export function hasDecodableUser(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password } = new URL(text);
  try {
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch {
    return false;
  }
}

/** `host` has no brackets, `port` 0 is any free one; `url` has no slash at its end. */
export type HttpAddress = { readonly host: string; readonly port: number; readonly url: string };

/**
 * `HOST:PORT`, `[::1]:PORT`, `PORT` alone (on 127.0.0.1) or an http(s) URL; null for `off` and `none`. Undefined: it is
 * none of these.
 */
export function readHttpAddress(text: string): HttpAddress | null | undefined {
  if (text === 'off' || text === 'none') return null;
  const [, scheme, host = '', digits] = addressPattern.exec(/^\d+$/.test(text) ? `127.0.0.1:${text}` : text) ?? [];
  const port = digits ?? { http: '80', https: '443' }[scheme?.toLowerCase() ?? ''];
  if (port === undefined || Number(port) > 65_535 || !URL.canParse(`http://${host}`)) return undefined;
  const url = `${scheme?.toLowerCase() ?? 'http'}://${host}:${Number(port)}`;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), url };
}
export const httpFault = 'is not HOST:PORT, such as 127.0.0.1:4280 (or "off")';

const addressPattern = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?\/?$/i;

/**
 * Holds for an origin, as in a browser's address line: a proxy may not put us under a path, since the page's own paths
 * begin at `/`.
 */
export function isOriginUrl(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { pathname, search, hash, username } = new URL(text);
  return pathname === '/' && `${search}${hash}${username}` === '';
}
export const originFault = 'is not a URL without a path, such as https://stopgate.example.com';

/** Tells whether only this machine can reach it. A name that would need a resolver counts as reachable from outside. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** Tells whether nobody else can reach it. `publicUrl`: where others do, through a proxy. */
export const isPrivate = ({ host, publicUrl }: { host: string; publicUrl: URL | string | null }): boolean =>
  isLoopback(host) && publicUrl === null;

/** Holds for a text that can be a token in an HTTP header. Its value never appears in a message. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);
export const tokenFault = 'a token holds printable ASCII without spaces, at least one character';

/** Short, on one line, and without the password of a URL. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a map';
  if (typeof value !== 'string') return String(value);
  const text = value.replace(/^.*:.*@/s, '***@');
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
