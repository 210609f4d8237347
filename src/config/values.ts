/** The values that flags, variables and stopgate.yaml have in common, and their validation. */
import { isIPv4 } from 'node:net';
import type { LogLevel } from '../log.ts';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies LogLevel[];
export const isLogLevel = (text: string): text is LogLevel => logLevels.some((level) => level === text);

/**
 * One or more servers, separated by commas: `HOST`, `HOST:PORT`, `nats://…` or `tls://…`. All of them may be `ws://…`,
 * or all `wss://…`.
 */
export function isNatsUrl(text: string): boolean {
  const parts = text.split(',').map((part) => part.trim());
  const webSockets = new Set(parts.map((part) => /^wss?:/i.exec(part)?.[0].toLowerCase()));
  return parts.every(isServer) && webSockets.size === 1;
}
export const natsFault =
  'is not a NATS URL such as nats://127.0.0.1:4222; ws:// and wss:// cannot be combined with other kinds';

function isServer(text: string): boolean {
  const url = text.includes('://') ? text : `nats://${text}`;
  if (/\s/.test(text) || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return ['nats:', 'tls:', 'ws:', 'wss:'].includes(protocol) && hostname !== '' && hasDecodableUser(url);
}

/**
 * Clients decode user and password, and fail at a "%" that begins no escape. Returns true for a text that is not a URL.
 */
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

/**
 * `host` has no brackets. `port` 0 means any free port. `url` has no trailing slash, and a path only behind a proxy.
 */
export type HttpAddress = { readonly host: string; readonly port: number; readonly url: string };

/**
 * Reads `HOST:PORT`, `[::1]:PORT`, `PORT` alone (on 127.0.0.1) or an http(s) URL, which may have a path if the service
 * is behind a proxy. Returns null for `off` and `none`, and undefined for anything else.
 */
export function readHttpAddress(text: string): HttpAddress | null | undefined {
  if (text === 'off' || text === 'none') return null;
  const [, scheme, host = '', digits, path = ''] =
    addressPattern.exec(/^\d+$/.test(text) ? `127.0.0.1:${text}` : text) ?? [];
  const port = digits ?? { http: '80', https: '443' }[scheme?.toLowerCase() ?? ''];
  if (port === undefined || Number(port) > 65_535 || !URL.canParse(`http://${host}`)) return undefined;
  const basePath = path.replace(/\/$/, '');
  if (basePath !== '' && (scheme === undefined || !isBasePath(basePath))) return undefined;
  const url = `${scheme?.toLowerCase() ?? 'http'}://${host}:${Number(port)}${basePath}`;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), url };
}
export const httpFault = 'is not HOST:PORT, such as 127.0.0.1:4280 (or "off")';

const addressPattern = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?(\/[^?#]*)?$/i;

/**
 * Tells whether the text is the path of a proxy's prefix, without a trailing slash. Nothing in it is escaped or
 * resolved.
 */
const isBasePath = (path: string): boolean => /^(?:\/(?!\.\.?(?:\/|$))[\w.~-]+)+$/.test(path);

/**
 * Tells whether the text can be the service's URL behind a proxy: its path is the prefix under which the proxy serves
 * it.
 */
export function isPublicUrl(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { pathname, username, password } = new URL(text);
  const written = /^https?:\/\/[^/?#]*(.*)$/i.exec(text)?.[1]?.replace(/\/$/, '') ?? '';
  // The URL parser resolves `..`. A path that it changes is refused.
  const isKept = pathname.replace(/\/$/, '') === written;
  return isKept && (written === '' || isBasePath(written)) && `${username}${password}` === '';
}
export const publicUrlFault =
  'is not an http(s) URL, such as https://stopgate.example.com or https://example.com/stopgate/, with letters, digits, "-", ".", "_" and "~" in its path';

/** Tells whether only this machine can reach the host. Names that need a resolver count as reachable from outside. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** Tells whether only this machine can reach the service. `publicUrl`: its URL behind a proxy. */
export const isPrivate = ({ host, publicUrl }: { host: string; publicUrl: URL | string | null }): boolean =>
  isLoopback(host) && publicUrl === null;

/** Tells whether the text can be a token in an HTTP header. Messages never contain its value. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);
export const tokenFault = 'a token must be printable ASCII without spaces, at least one character';

/** Describes a value on one short line, without the password of a URL. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a map';
  if (typeof value !== 'string') return String(value);
  const text = value.replace(/^.*:.*@/s, '***@');
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
