/**
 * Who may use the HTTP server (protocol.md §12). Loopback alone is no protection: any page in the user's browser can
 * reach a loopback port, from a foreign origin or through a host name of its own that resolves to 127.0.0.1.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../errors.ts';

/** `host`: where the server listens. `token` null: none is required, which is allowed on loopback only. */
export type Admission = {
  readonly host: string;
  readonly token: string | null;
  /** Required for operator actions, and accepted for reading too; null: nobody may act as operator. */
  readonly operatorToken: string | null;
};

const loopbackNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);
/** Every address of the machine. We cannot know which names resolve to it, so the token alone has to protect it. */
const wildcards: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const isLoopback = (host: string): boolean => loopbackNames.has(host) || /^127(\.\d{1,3}){3}$/.test(host);

/** @throws AppError config.bad: reachable from the network without a token */
export function checkBinding({ host, token }: Pick<Admission, 'host' | 'token'>): void {
  if (token === '') throw new AppError('config.bad', 'the token for HTTP is empty');
  if (token !== null || isLoopback(host)) return;
  throw new AppError(
    'config.bad',
    `HTTP on '${host}' needs a token because it is not a loopback address; pass one with --token`,
  );
}

/** @throws AppError host.foreign, origin.foreign */
export function checkSource(headers: IncomingHttpHeaders, { host, token }: Admission): void {
  const name = readHostName(headers.host);
  const isOurs = loopbackNames.has(name) || (token !== null && (name === bare(host) || wildcards.has(bare(host))));
  if (!isOurs) throw new AppError('host.foreign', `this server is not '${headers.host ?? ''}'`);
  const { origin } = headers;
  if (origin === undefined || hostOf(origin) === headers.host?.toLowerCase()) return;
  throw new AppError('origin.foreign', `pages from '${origin}' may not use this server`);
}

/** @throws AppError input.unauthorized */
export function checkToken(headers: IncomingHttpHeaders, admission: Admission): void {
  if (admission.token === null || presents(headers, admission.token) || isOperator(headers, admission)) return;
  throw new AppError('input.unauthorized', 'a token is required: send the header "Authorization: Bearer <token>"');
}

export const isOperator = (headers: IncomingHttpHeaders, { operatorToken }: Admission): boolean =>
  operatorToken !== null && presents(headers, operatorToken);

/** @throws AppError input.unauthorized */
export function checkOperator(headers: IncomingHttpHeaders, admission: Admission): void {
  if (isOperator(headers, admission)) return;
  const message =
    admission.operatorToken === null
      ? 'this service was started without a token, so nobody can act as its operator over HTTP; start it with --token'
      : 'this requires the operator token, and the request has none or a wrong one';
  throw new AppError('input.unauthorized', message);
}

/** Either token will do, but one must be there. @throws AppError input.unauthorized */
export function checkAnyToken(headers: IncomingHttpHeaders, admission: Admission): void {
  if (admission.token !== null && presents(headers, admission.token)) return;
  checkOperator(headers, admission);
}

/**
 * A `Set-Cookie` header; token null ends the session. Other sites cannot make the browser send it and scripts cannot
 * read it. Browsers send cookies to every port of a host, so the name carries our port. The value is derived from the
 * token and useless elsewhere, because the token itself may also open NATS.
 */
export const sessionCookie = ({ host }: IncomingHttpHeaders, token: string | null): string =>
  `${cookieName(host)}=${token === null ? '' : sessionOf(token)}; Path=/; HttpOnly; SameSite=Strict${token === null ? '; Max-Age=0' : ''}`;

const cookieName = (host = ''): string => `stopgate_session_${/:(\d{1,5})$/.exec(host)?.[1] ?? 80}`;
const sessionOf = (token: string): string => createHmac('sha256', token).update('stopgate session').digest('hex');

function presents({ authorization, cookie, host }: IncomingHttpHeaders, token: string): boolean {
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  const session = new RegExp(`(?:^|; *)${cookieName(host)}=([^;]*)`).exec(cookie ?? '')?.[1];
  return isSame(bearer, token) || isSame(session, sessionOf(token));
}

/** Constant time: hashes have one length, so the duration reveals neither the length nor the first difference. */
const isSame = (given: string | undefined, expected: string): boolean =>
  given !== undefined && timingSafeEqual(hash(given), hash(expected));

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
const bare = (host: string): string => host.toLowerCase().replace(/^\[(.*)\]$/, '$1');

/** The name in a Host header, without port and brackets; '' if it is malformed. */
function readHostName(header: string | undefined): string {
  const name = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1];
  return bare(name ?? '');
}

/** Null: the opaque origin `null`, or not a URL. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
