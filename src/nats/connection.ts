/** Opens connections to NATS. Only this folder imports @nats-io. */
import {
  AuthorizationError,
  type ConnectionOptions as ConnectionSettings,
  createInbox,
  type Msg,
  type NatsConnection,
  PermissionViolationError,
  type Subscription,
  TimeoutError,
  UserAuthenticationExpiredError,
} from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import { inTime } from '../timer.ts';
import { readCredentials, readUrl, type TlsFiles } from './credentials.ts';
import { connectToNats } from './transport.ts';

export { type NatsConnection, RequestError, TimeoutError } from '@nats-io/nats-core';

export type ConnectionOptions = {
  /** One or more, separated by commas; may hold user and password. All of them `ws://` or `wss://`, or none. */
  readonly url: string;
  /** See `readCredentials`. */
  readonly credsFile?: string | undefined;
  readonly name: string;
  /** Reconnect for ever (a service), or fail soon (a command). */
  readonly patient: boolean;
  /** Answers to it arrive under this subject; default: `_INBOX`. */
  readonly inboxPrefix?: string | undefined;
  /** Called with what a callback of `subscribe` throws. Default: a warning of the process. */
  readonly onFault?: OnFault | undefined;
  /** Default: `connectToNats`. */
  readonly connect?: typeof connectToNats | undefined;
};

/** `subject`: of the message whose callback failed. */
export type OnFault = (error: unknown, subject: string) => void;

const inboxPrefixes = new WeakMap<NatsConnection, string>();
const faultHandlers = new WeakMap<NatsConnection, OnFault>();

const warnOfFault: OnFault = (error, subject) => {
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`a message at ${subject} could not be handled: ${why}`, 'StopgateWarning');
};

/**
 * Subscribes with a callback that may throw. In the library an error that leaves a callback ends the reading of its
 * connection, and is printed to stdout.
 * @param onMessage gets an error instead of a message if the server refuses the subscription
 */
export function subscribe(
  nc: NatsConnection,
  subject: string,
  onMessage: (error: Error | null, message: Msg) => void,
  queue?: string,
): Subscription {
  return nc.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback: (error, message) => {
      try {
        onMessage(error, message);
      } catch (fault) {
        (faultHandlers.get(nc) ?? warnOfFault)(fault, message.subject ?? subject);
      }
    },
  });
}

/** An inbox under the connection's own prefix, from which the server may keep other clients. */
export const newInbox = (nc: NatsConnection): string => createInbox(inboxPrefixes.get(nc));

/** The server ends a connection whose control line is over 4,096 bytes; inboxes have some dozens. */
const replyBytesMax = 1_024;

/** A whole subject without wildcards: no client may make the service write elsewhere. */
export const isReplySubject = (subject: string): boolean =>
  Buffer.byteLength(subject) <= replyBytesMax && /^[^\s*>]+$/.test(subject) && !subject.split('.').includes('');

/**
 * Returns '' if nobody can be answered. The subject may be longer than it came: each byte that is not UTF-8 is read as
 * U+FFFD, which has three.
 */
export const replySubjectOf = ({ reply = '' }: Msg): string => (isReplySubject(reply) ? reply : '');

/**
 * A `tls://` URL is never answered in plain text.
 * @throws AppError service.unreachable: no server, or it refused the credentials; input.bad: they cannot be read
 */
export async function openConnection({
  url,
  credsFile,
  name,
  patient,
  inboxPrefix,
  onFault,
  connect = connectToNats,
}: ConnectionOptions): Promise<NatsConnection> {
  const { servers, ...inUrl } = readUrl(url);
  const { login = inUrl, tls } = credsFile === undefined ? {} : readCredentials(credsFile);
  try {
    const nc = await connect({
      ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
      servers,
      ...login,
      ...(tls !== undefined || servers.some((server) => server.startsWith('tls://')) ? { tls: { ...tls } } : {}),
      name,
      timeout: connectTimeoutMs,
      maxReconnectAttempts: patient ? -1 : 3,
      ...createPacing(),
      // A server that is gone without closing its side is noticed within twice this time.
      pingInterval: 5_000,
      maxPingOut: 2,
      // Each request would take three stacks in advance, in case that it fails; ours say what failed themselves.
      noAsyncTraces: true,
    });
    if (inboxPrefix !== undefined) inboxPrefixes.set(nc, inboxPrefix);
    if (onFault !== undefined) faultHandlers.set(nc, onFault);
    return nc;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw notConnected(
      cause as Error,
      servers.join(', '),
      credsFile ?? ('user' in inUrl || 'token' in inUrl ? 'the URL' : null),
      tls,
    );
  }
}

const flushMs = 5_000;

/** Resolves when the server has handled all that was sent. @throws AppError service.unreachable */
export const flushInTime = (nc: NatsConnection): Promise<void> => answered(nc.flush(), flushMs);

/**
 * Waits for `done` with a time limit: a connection that is reconnecting answers nothing until it is back.
 * @throws AppError service.unreachable, and what `done` fails with
 */
export const answered = <Result>(done: Promise<Result>, timeoutMs: number): Promise<Result> =>
  inTime(timeoutMs, done, () => {
    throw new AppError('service.unreachable', `the NATS server did not answer within ${timeoutMs} ms`);
  });

const connectTimeoutMs = 5_000;

/**
 * Decides how often a server is dialled. The library would do so by the clock of the machine, and after one that is set
 * back by an hour wait for an hour.
 */
function createPacing(): Pick<ConnectionSettings, 'reconnectDelayHandler' | 'reconnectToServer'> {
  const dialledMs = new Map<string, number>();
  return {
    reconnectDelayHandler: () => Number.NEGATIVE_INFINITY,
    reconnectToServer([server]) {
      if (server === undefined) return null;
      const nowMs = performance.now();
      const atMs = Math.max(
        nowMs,
        (dialledMs.get(server.listen) ?? Number.NEGATIVE_INFINITY) + redialMs + Math.random() * 100,
      );
      dialledMs.set(server.listen, atMs);
      return { server, delay: atMs - nowMs };
    },
  };
}

const redialMs = 250;

/**
 * Rejects as soon as the server forbids something to this connection. Whoever waits for an answer races it, since the
 * server reports it beside the answer that never comes. @throws AppError input.unauthorized
 */
export async function rejectForbidden(nc: NatsConnection, hint: string): Promise<never> {
  for await (const status of nc.status()) {
    if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
    const { operation, subject } = status.error;
    const verb = operation === 'publish' ? 'publish' : 'subscribe to';
    throw new AppError('input.unauthorized', `the NATS server does not let us ${verb} '${subject}'; ${hint}`, {
      cause: status.error,
    });
  }
  return new Promise(() => {}); // it is closed, which others report
}

/** `credentials`: the file or other place that they came from; null: none were given. */
function notConnected(cause: Error, servers: string, credentials: string | null, tls: TlsFiles | undefined): AppError {
  if (cause instanceof AuthorizationError || cause instanceof UserAuthenticationExpiredError) {
    const why = /timeout/i.test(cause.message)
      ? 'waited too long for our credentials: this machine or the network is slow; try again'
      : credentials === null
        ? 'requires credentials: name a file with --creds, or put USER:PASSWORD@ before the host'
        : `refused the credentials of ${credentials === 'the URL' ? credentials : `'${credentials}'`} (${cause.message})`;
    return new AppError('service.unreachable', `the NATS server at ${servers} ${why}`, { cause });
  }
  const text = `${(cause as NodeJS.ErrnoException).code} ${cause.message}`;
  if (/UNABLE_TO_|SELF_SIGNED|issuer certificate|self-signed|verify the first certificate/.test(text)) {
    const trust = 'name the authority that signed it in NODE_EXTRA_CA_CERTS=FILE, before the start';
    return new AppError(
      'service.unreachable',
      `the certificate of ${servers} is not trusted: ${cause.message}; ${trust}`,
      { cause },
    );
  }
  if (tls?.certFile === undefined && /certificate required|handshake failure|bad certificate/i.test(text)) {
    const why = `the NATS server at ${servers} requires a client certificate: ${certificateHint}`;
    return new AppError('service.unreachable', why, { cause });
  }
  // It has expired, is for another host, or the server does not trust ours.
  if (/certificate|CERT_/i.test(text))
    return new AppError('service.unreachable', `no TLS with ${servers}: ${cause.message}`, { cause });
  // Node 20 refuses to dial it; newer ones try the interface that they find first, and hear nothing for minutes.
  if (servers.split(', ').some(isLinkLocal) && (cause instanceof TimeoutError || /\bfe[89ab]/i.test(cause.message))) {
    const why = 'a link-local address needs an interface, which a NATS URL cannot name';
    const hint = "use the server's host name or another address of it";
    return new AppError('service.unreachable', `cannot connect to ${servers}: ${why}; ${hint}`, { cause });
  }
  if (/server does not support 'tls'/.test(cause.message))
    return new AppError(
      'service.unreachable',
      `the NATS server at ${servers} has no TLS: use nats:// for it, without certificates in --creds`,
      {
        cause,
      },
    );
  const hint =
    cause instanceof TimeoutError
      ? hintForSilence(tls?.certFile !== undefined)
      : 'start one with "stopgate dev", or name yours with --nats';
  return new AppError('service.unreachable', `no NATS server at ${servers}: ${describe(cause)}; ${hint}`, { cause });
}

/** With TLS 1.3 a server refuses only after the handshake, and the library does not tell why it hung up. */
const hintForSilence = (hasCertificate: boolean) =>
  hasCertificate
    ? 'if a server runs there, it does not answer: check it, or name another with --nats'
    : `if a server runs there, it does not answer or requires a client certificate: check it, name another with --nats, or ${certificateHint}`;

const certificateHint =
  'name the certificate with its key in a file for --creds: { "cert": "client.crt", "key": "client.key" }';

const isLinkLocal = (server: string) => /^(?:\w+:\/\/)?\[fe[89ab][0-9a-f]:/i.test(server);

function describe(cause: Error): string {
  if (cause instanceof TimeoutError) return `no answer within ${connectTimeoutMs} ms`;
  const [, code = '', host = ''] = /\b(ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH) (\S+)/.exec(cause.message) ?? [];
  const reasons: Record<string, string> = {
    ENOTFOUND: `there is no host '${host}'`,
    EAI_AGAIN: `the host '${host}' cannot be looked up at the moment; is the network up?`,
    ENETUNREACH: `${host} cannot be reached: there is no route to it; is the network up?`,
    EHOSTUNREACH: `${host} cannot be reached: there is no route to it`,
  };
  return reasons[code] ?? cause.message;
}
