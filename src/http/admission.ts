/**
 * Who may speak to the HTTP server (protocol 12): a page in the user's own browser reaches a loopback port as well as
 * the user does, by a foreign Origin, or by a name of its own that it points to 127.0.0.1.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../errors.ts';

/** `host`: where the server listens. `token` null: none is asked for, which is for loopback only. */
export type Admission = {
  readonly host: string;
  readonly token: string | null;
  /** What an operator must bring to say something; null: nobody may. It lets its bearer read, too. */
  readonly operatorToken: string | null;
};

const loopbackNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);
/** Every address of the machine; which names lead there nobody knows, so the token alone must do. */
const wildcards: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const isLoopback = (host: string): boolean => loopbackNames.has(host) || /^127(\.\d{1,3}){3}$/.test(host);

/** @throws AppError config.bad: an open door to the network */
export function checkBinding({ host, token }: Pick<Admission, 'host' | 'token'>): void {
  if (token === '') throw new AppError('config.bad', 'the token for HTTP is empty');
  if (token !== null || isLoopback(host)) return;
  throw new AppError(
    'config.bad',
    `HTTP on '${host}' needs a token, since it is no loopback address; give one with --token`,
  );
}

/** @throws AppError host.foreign, origin.foreign */
export function checkSource(headers: IncomingHttpHeaders, { host, token }: Admission): void {
  const named = nameIn(headers.host);
  const ours = loopbackNames.has(named) || (token !== null && (named === bare(host) || wildcards.has(bare(host))));
  if (!ours) throw new AppError('host.foreign', `this server is not '${headers.host ?? ''}'`);
  const { origin } = headers;
  if (origin === undefined || hostOf(origin) === headers.host?.toLowerCase()) return;
  throw new AppError('origin.foreign', `pages of '${origin}' may not use this server`);
}

/** @throws AppError input.unauthorized */
export function checkToken(headers: IncomingHttpHeaders, admission: Admission): void {
  if (admission.token === null || brings(headers, admission.token) || isOperator(headers, admission)) return;
  throw new AppError('input.unauthorized', 'a token is needed: send the header "Authorization: Bearer <token>"');
}

export const isOperator = (headers: IncomingHttpHeaders, { operatorToken }: Admission): boolean =>
  operatorToken !== null && brings(headers, operatorToken);

/** @throws AppError input.unauthorized */
export function checkOperator(headers: IncomingHttpHeaders, admission: Admission): void {
  if (isOperator(headers, admission)) return;
  const words =
    admission.operatorToken === null
      ? 'this service was started without a token, so nobody may speak as its operator over HTTP; start it with --token'
      : "an operator's token is needed, and this is not it";
  throw new AppError('input.unauthorized', words);
}

/** A token that lets its bearer do more than anybody may. @throws AppError input.unauthorized */
export function checkBearer(headers: IncomingHttpHeaders, admission: Admission): void {
  if (admission.token !== null && brings(headers, admission.token)) return;
  checkOperator(headers, admission);
}

/**
 * Token null: ends the session. No page of another site sends it, and no script reads it. A browser shows its cookies to
 * every port of a host, so it is named by ours, and holds what is worth nothing but here: the token opens the bus too.
 */
export const sessionCookie = ({ host }: IncomingHttpHeaders, token: string | null): string =>
  `${cookieName(host)}=${token === null ? '' : sessionOf(token)}; Path=/; HttpOnly; SameSite=Strict${token === null ? '; Max-Age=0' : ''}`;

const cookieName = (host = ''): string => `stopgate_session_${/:(\d{1,5})$/.exec(host)?.[1] ?? 80}`;
const sessionOf = (token: string): string => createHmac('sha256', token).update('stopgate session').digest('hex');

function brings({ authorization, cookie, host }: IncomingHttpHeaders, token: string): boolean {
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  const session = new RegExp(`(?:^|; *)${cookieName(host)}=([^;]*)`).exec(cookie ?? '')?.[1];
  return isSame(bearer, token) || isSame(session, sessionOf(token));
}

/** Hashes are of one length, so that neither the length nor the first difference shows in the time this takes. */
const isSame = (given: string | undefined, wanted: string): boolean =>
  given !== undefined && timingSafeEqual(hash(given), hash(wanted));

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
const bare = (host: string): string => host.toLowerCase().replace(/^\[(.*)\]$/, '$1');

/** The name in a Host header, without port and brackets; '' for what is none. */
function nameIn(header: string | undefined): string {
  const name = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1];
  return bare(name ?? '');
}

/** Null: the opaque origin `null`, or no URL. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
