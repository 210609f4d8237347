/**
 * Decides who may use the HTTP server (protocol.md §12). Listening on loopback alone is no protection: any page in the
 * user's browser can reach a loopback port, from a foreign origin or through a host name that resolves to 127.0.0.1.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type AccessToken, accessRoles, hashOfSession, sessionOf } from '../config/access-tokens.ts';
import { isLoopback, isPrivate } from '../config/values.ts';
import { AppError } from '../errors.ts';
import { type Access, type Caller, checkAccess } from './access.ts';
import { basePathOf } from './base-path.ts';

export type HttpAdmission = {
  /** The address on which the server listens. */
  readonly host: string;
  /** The URL for others, through a proxy. Null if clients connect directly. */
  readonly publicUrl: URL | null;
  /** Whether the server itself terminates TLS. */
  readonly isTls: boolean;
  /** Returns the current tokens. */
  readonly tokens: () => readonly AccessToken[];
  /**
   * Whether requests without a token are served, with the role agent: only on loopback and while no token is
   * configured.
   */
  readonly isOpen: () => boolean;
};

const loopbackNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);
/** All addresses of the machine. We cannot know which names resolve to them, so only a token protects the server. */
const wildcards: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** @throws AppError config.bad if the server is reachable from the network without a token */
export function checkBinding({ host, publicUrl }: HttpAdmission, hasToken: boolean): void {
  if (hasToken || isPrivate({ host, publicUrl })) return;
  const why = isLoopback(host) ? `others reach it at ${publicUrl?.origin}` : 'it is not a loopback address';
  throw new AppError(
    'config.bad',
    `HTTP on '${host}' needs a token because ${why}; set STOPGATE_TOKEN (or --token), or "tokens" in stopgate.yaml`,
  );
}

/** @throws AppError host.foreign or origin.foreign */
export function checkSource(headers: IncomingHttpHeaders, { host, publicUrl, isOpen }: HttpAdmission): void {
  const name = readHostName(headers.host);
  const isBound = !isOpen() && (name === withoutBrackets(host) || wildcards.has(withoutBrackets(host)));
  if (!loopbackNames.has(name) && !isBound && name !== (publicUrl?.hostname ?? null)) {
    const hint = 'behind a proxy, set "publicUrl" to its public name';
    throw new AppError('host.foreign', `this server is not '${headers.host ?? ''}'; ${hint}`);
  }
  const { origin } = headers;
  if (origin === undefined || hostOf(origin) === headers.host?.toLowerCase() || origin === publicUrl?.origin) return;
  throw new AppError('origin.foreign', `pages from '${origin}' may not use this server`);
}

const unknownToken = 'this token is not known here; it may have been replaced';
const anonymous: Caller = { name: null, role: 'agent', workers: null, fleets: null };

/** @throws AppError input.unauthorized */
export function findCaller(headers: IncomingHttpHeaders, { tokens, isOpen }: HttpAdmission): Caller {
  const given = readSessions(headers).map(hashOfSession);
  const found = tokens().filter(({ hashes }) => given.some((one) => hashes.some((hash) => isSame(one, hash))));
  // A request with both an operator's session and an agent's token is the operator's.
  const [caller] = found.toSorted((a, b) => accessRoles.indexOf(b.role) - accessRoles.indexOf(a.role));
  if (caller !== undefined) return caller;
  if (isOpen()) return anonymous;
  if (given.length > 0) throw new AppError('input.unauthorized', unknownToken);
  throw new AppError('input.unauthorized', 'a token is required: send the header "Authorization: Bearer <token>"');
}

/** Refuses a caller without a token. @throws AppError input.unauthorized */
export function refuseAnonymous(caller: Caller, headers: IncomingHttpHeaders, { tokens }: HttpAdmission): void {
  if (caller !== anonymous) return;
  if (!tokens().some(({ role }) => role === 'operator'))
    throw new AppError(
      'input.unauthorized',
      'this service was started without a token, so nobody can act as its operator over HTTP; start it with --token',
    );
  const isGiven = headers.authorization !== undefined || hasSession(headers);
  throw new AppError('input.unauthorized', isGiven ? unknownToken : 'this requires the operator token');
}

/**
 * Returns a `Set-Cookie` header. A null token ends the session. Other sites cannot make the browser send the cookie,
 * and scripts cannot read it. Browsers send cookies to every port of a host, so the name contains our port. Behind a
 * proxy, the path limits the cookie to our prefix. The value is derived from the token and useless elsewhere, because
 * the token itself may also give access to NATS.
 */
export function sessionCookie({ host }: IncomingHttpHeaders, token: string | null, admission: HttpAdmission): string {
  const { publicUrl, isTls } = admission;
  const isSecure = isTls || (publicUrl?.protocol === 'https:' && readHostName(host) === publicUrl.hostname);
  const path = host === publicUrl?.host ? `${basePathOf(publicUrl)}/` : '/';
  const value = `${cookieName(host)}=${token === null ? '' : sessionOf(token)}`;
  const ends = token === null ? '; Max-Age=0' : '';
  return `${value}; Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${ends}`;
}

const cookieName = (host = ''): string => `stopgate_session_${/:(\d{1,5})$/.exec(host)?.[1] ?? 80}`;

/** Returns the session of the token in the header, and that of the cookie. */
function readSessions({ authorization, cookie, host }: IncomingHttpHeaders): string[] {
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  const session = sessionIn({ cookie, host });
  return [...(bearer === undefined ? [] : [sessionOf(bearer)]), ...(session === undefined ? [] : [session])];
}

const sessionIn = ({ cookie, host }: IncomingHttpHeaders): string | undefined =>
  new RegExp(`(?:^|; *)${cookieName(host)}=([^;]*)`).exec(cookie ?? '')?.[1];

/** Whether the browser has a session, which can be ended. */
export const hasSession = (headers: IncomingHttpHeaders): boolean => (sessionIn(headers) ?? '') !== '';

/**
 * Compares in constant time. Hashes have equal lengths, so the duration reveals neither a length nor the first
 * difference.
 */
const isSame = (given: string, hash: string): boolean => timingSafeEqual(Buffer.from(given), Buffer.from(hash));

const withoutBrackets = (host: string): string => host.toLowerCase().replace(/^\[(.*)\]$/, '$1');

/** Returns the name in a Host header, without port and brackets, or '' if it is malformed. */
function readHostName(header: string | undefined): string {
  const name = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1];
  return withoutBrackets(name ?? '');
}

/** Returns null for the opaque origin `null`, and for anything that is not a URL. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

/** After its token is revoked, a stream stays open for at most this long. */
const recheckMs = 1_000;

/** Calls `end` once the stream's request would be refused. @returns a function that ends the checks */
export function onceRevoked(
  headers: IncomingHttpHeaders,
  params: unknown,
  access: Access,
  admission: HttpAdmission,
  end: () => void,
): () => void {
  const check = () => {
    try {
      checkAccess(findCaller(headers, admission), access, params);
    } catch {
      clearInterval(timer);
      end();
    }
  };
  const timer = setInterval(check, recheckMs).unref();
  return () => clearInterval(timer);
}
