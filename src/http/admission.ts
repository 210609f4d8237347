/**
 * Decides who may use the HTTP server (protocol.md §12). Loopback alone is no protection: any page in the user's
 * browser can reach a loopback port, from a foreign origin or through a host name of its own that resolves to
 * 127.0.0.1.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type AccessToken, accessRoles, hashOfSession, sessionOf } from '../config/access-tokens.ts';
import { isLoopback, isPrivate } from '../config/values.ts';
import { AppError } from '../errors.ts';
import { type Access, type Caller, checkAccess } from './access.ts';

export type Admission = {
  /** The server listens here. */
  readonly host: string;
  /** Others reach it here, through a proxy; null: only where it listens. */
  readonly publicUrl: URL | null;
  /** Tells whether the server itself terminates TLS. */
  readonly isTls: boolean;
  /** Returns the tokens as they are now. */
  readonly tokens: () => readonly AccessToken[];
  /**
   * Tells whether requests without a token are served now, as an agent's: on loopback alone, and while no token is set.
   */
  readonly isOpen: () => boolean;
};

const loopbackNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);
/** Every address of the machine. We cannot know which names resolve to it, so the token alone has to protect it. */
const wildcards: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** @throws AppError config.bad: reachable from the network without a token */
export function checkBinding({ host, publicUrl }: Admission, hasToken: boolean): void {
  if (hasToken || isPrivate({ host, publicUrl })) return;
  const why = isLoopback(host) ? `others reach it at ${publicUrl?.origin}` : 'it is not a loopback address';
  throw new AppError(
    'config.bad',
    `HTTP on '${host}' needs a token because ${why}; set STOPGATE_TOKEN (or --token), or "tokens" in stopgate.yaml`,
  );
}

/** @throws AppError host.foreign, origin.foreign */
export function checkSource(headers: IncomingHttpHeaders, { host, publicUrl, isOpen }: Admission): void {
  const name = readHostName(headers.host);
  const isBound = !isOpen() && (name === bare(host) || wildcards.has(bare(host)));
  if (!loopbackNames.has(name) && !isBound && name !== (publicUrl?.hostname ?? null)) {
    const hint = 'behind a proxy, say with "publicUrl" which name it has there';
    throw new AppError('host.foreign', `this server is not '${headers.host ?? ''}'; ${hint}`);
  }
  const { origin } = headers;
  if (origin === undefined || hostOf(origin) === headers.host?.toLowerCase() || origin === publicUrl?.origin) return;
  throw new AppError('origin.foreign', `pages from '${origin}' may not use this server`);
}

const unknownToken = 'this token is not known here; it may have been replaced';
const anyone: Caller = { name: null, role: 'agent', workers: null, fleets: null };

/** @throws AppError input.unauthorized */
export function findCaller(headers: IncomingHttpHeaders, { tokens, isOpen }: Admission): Caller {
  const given = readSessions(headers).map(hashOfSession);
  const found = tokens().filter(({ hashes }) => given.some((one) => hashes.some((hash) => isSame(one, hash))));
  // Who is signed in as an operator, and sends the token of an agent too, is the operator.
  const [caller] = found.toSorted((a, b) => accessRoles.indexOf(b.role) - accessRoles.indexOf(a.role));
  if (caller !== undefined) return caller;
  if (isOpen()) return anyone;
  if (given.length > 0) throw new AppError('input.unauthorized', unknownToken);
  throw new AppError('input.unauthorized', 'a token is required: send the header "Authorization: Bearer <token>"');
}

/** Refuses a caller whom only an open service lets in. @throws AppError input.unauthorized */
export function refuseAnyone(caller: Caller, headers: IncomingHttpHeaders, { tokens }: Admission): void {
  if (caller !== anyone) return;
  if (!tokens().some(({ role }) => role === 'operator'))
    throw new AppError(
      'input.unauthorized',
      'this service was started without a token, so nobody can act as its operator over HTTP; start it with --token',
    );
  const isGiven = headers.authorization !== undefined || hasSession(headers);
  throw new AppError('input.unauthorized', isGiven ? unknownToken : 'this requires the operator token');
}

/**
 * A `Set-Cookie` header; token null ends the session. Other sites cannot make the browser send it and scripts cannot
 * read it. Browsers send cookies to every port of a host, so the name carries our port. The value is derived from the
 * token and useless elsewhere, because the token itself may also open NATS.
 */
export function sessionCookie({ host }: IncomingHttpHeaders, token: string | null, admission: Admission): string {
  const { publicUrl, isTls } = admission;
  const isSecure = isTls || (publicUrl?.protocol === 'https:' && readHostName(host) === publicUrl.hostname);
  const value = `${cookieName(host)}=${token === null ? '' : sessionOf(token)}`;
  const ends = token === null ? '; Max-Age=0' : '';
  return `${value}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${ends}`;
}

const cookieName = (host = ''): string => `stopgate_session_${/:(\d{1,5})$/.exec(host)?.[1] ?? 80}`;

/** Reads the sessions of the token in the header, and of the cookie. */
function readSessions({ authorization, cookie, host }: IncomingHttpHeaders): string[] {
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  const session = sessionIn({ cookie, host });
  return [...(bearer === undefined ? [] : [sessionOf(bearer)]), ...(session === undefined ? [] : [session])];
}

const sessionIn = ({ cookie, host }: IncomingHttpHeaders): string | undefined =>
  new RegExp(`(?:^|; *)${cookieName(host)}=([^;]*)`).exec(cookie ?? '')?.[1];

/** Tells whether the browser has a session, which can be ended. */
export const hasSession = (headers: IncomingHttpHeaders): boolean => (sessionIn(headers) ?? '') !== '';

/** Constant time: hashes have one length, so the duration reveals neither the length nor the first difference. */
const isSame = (given: string, hash: string): boolean => timingSafeEqual(Buffer.from(given), Buffer.from(hash));

const bare = (host: string): string => host.toLowerCase().replace(/^\[(.*)\]$/, '$1');

/** The name in a Host header, without port and brackets; '' if it is malformed. */
function readHostName(header: string | undefined): string {
  const name = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1];
  return bare(name ?? '');
}

/** Returns null for the opaque origin `null`, and for what is no URL. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

// Streams outlive the request that opened them, and end when their token is revoked.

/** A token that was taken away can still read for this long. */
const recheckMs = 1_000;

/** Calls `end` once the request would be refused. @returns what ends the checks */
export function onceRevoked(
  headers: IncomingHttpHeaders,
  params: unknown,
  access: Access,
  admission: Admission,
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
