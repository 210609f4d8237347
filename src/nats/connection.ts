/** Opens connections to NATS. Only src/nats imports @nats-io. */
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
import { withTimeout } from '../timer.ts';
import { readCredentials, readUrl, type TlsFiles } from './credentials.ts';
import { connectToNats } from './transport.ts';

export { type NatsConnection, RequestError, TimeoutError } from '@nats-io/nats-core';

export type ConnectionOptions = {
  /**
   * One or more URLs, separated by commas. May contain user and password. Either all or none are `ws://` or `wss://`.
   */
  readonly url: string;
  /** See `readCredentials`. */
  readonly credsFile?: string | undefined;
  /** Connection name shown by the NATS server. */
  readonly name: string;
  /** True: reconnect indefinitely (services). False: give up soon (commands). */
  readonly patient: boolean;
  /** Subject prefix of inboxes. Default: `_INBOX`. */
  readonly inboxPrefix?: string | undefined;
  /** Called with an error thrown in a callback of `subscribe`. Default: emits a process warning. */
  readonly onFault?: OnCallbackError | undefined;
  /** Default: `connectToNats`. */
  readonly connect?: typeof connectToNats | undefined;
};

/** `subject`: the message whose callback failed. */
export type OnCallbackError = (error: unknown, subject: string) => void;

const inboxPrefixes = new WeakMap<NatsConnection, string>();
const faultHandlers = new WeakMap<NatsConnection, OnCallbackError>();

const warnOfFault: OnCallbackError = (error, subject) => {
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`a message at ${subject} could not be handled: ${why}`, 'StopgateWarning');
};

/**
 * Subscribes with a callback that may throw. If an error escapes a callback, the library prints it to stdout and stops
 * reading from the connection.
 * @param onMessage called with an error if the server denies the subscription
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

/** Tells whether the server denied a message for lack of permission. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof PermissionViolationError || (error as Error).cause instanceof PermissionViolationError;

export const otherRoleHint = 'these credentials are for another role or another fleet';

/** @param what what the connection tried */
export const notPermitted = (what: string, cause: unknown): AppError =>
  new AppError('input.unauthorized', `the NATS server does not let us ${what}: ${otherRoleHint}`, { cause });

/** The default of nats-server. */
const payloadBytesDefault = 1_048_576;

/** Returns the server's `max_payload`, in bytes. */
export const payloadBytesMaxOf = (nc: NatsConnection): number => nc.info?.max_payload ?? payloadBytesDefault;

/** Creates an inbox under the connection's `inboxPrefix`, which permissions can keep other clients from reading. */
export const newInbox = (nc: NatsConnection): string => createInbox(inboxPrefixes.get(nc));

/** The server closes a connection whose control line exceeds 4,096 bytes. Inboxes have a few dozen bytes. */
const replyBytesMax = 1_024;

/** Tells whether a reply subject is safe to publish to: complete, and without wildcards. */
export const isReplySubject = (subject: string): boolean =>
  Buffer.byteLength(subject) <= replyBytesMax && /^[^\s*>]+$/.test(subject) && !subject.split('.').includes('');

/** Returns the reply subject, or '' if there is none that is safe to use. */
export const replySubjectOf = ({ reply = '' }: Msg): string => (isReplySubject(reply) ? reply : '');

/**
 * Connects to the first server that accepts. A `tls://` URL never falls back to plain text.
 * @throws AppError service.unreachable if no server is reachable or it refuses the credentials; input.bad if the
 *   credentials cannot be read
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
  if (servers.every(isLinkLocal)) throw linkLocalFault(servers.join(', '));
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
      // A server that vanishes without closing the connection is noticed within twice this time.
      pingInterval: 5_000,
      maxPingOut: 2,
      // By default each request captures three stack traces in case it fails. Our errors are clear without them.
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

/** Resolves when the server has processed everything sent so far. @throws AppError service.unreachable */
export const flushInTime = (nc: NatsConnection): Promise<void> => withReplyTimeout(nc.flush(), flushMs);

/**
 * Waits for `done` with a timeout, because a connection that is reconnecting gets no replies.
 * @throws AppError service.unreachable after the timeout; otherwise rejects like `done`
 */
export const withReplyTimeout = <Result>(done: Promise<Result>, timeoutMs: number): Promise<Result> =>
  withTimeout(timeoutMs, done, () => {
    throw new AppError('service.unreachable', `the NATS server did not answer within ${timeoutMs} ms`);
  });

const connectTimeoutMs = 5_000;

/**
 * Paces reconnect attempts by a monotonic clock. The library uses the system clock: if that is set back by an hour, it
 * waits for an hour.
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
 * Rejects on the first permission violation of the connection, and never resolves. Race it against a reply: the server
 * reports the violation separately, and the reply never arrives.
 * @throws AppError input.unauthorized
 */
export async function rejectOnPermissionViolation(nc: NatsConnection, hint: string): Promise<never> {
  for await (const status of nc.status()) {
    if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
    const { operation, subject } = status.error;
    const verb = operation === 'publish' ? 'publish' : 'subscribe to';
    throw new AppError('input.unauthorized', `the NATS server does not let us ${verb} '${subject}'; ${hint}`, {
      cause: status.error,
    });
  }
  return new Promise(() => {}); // the connection is closed, which others report
}

/** `credentials`: the file that they came from, `the URL`, or null if there are none. */
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
  // The certificate has expired or is for another host, or the server does not trust ours.
  if (/certificate|CERT_/i.test(text))
    return new AppError('service.unreachable', `no TLS with ${servers}: ${cause.message}`, { cause });
  if (/server does not support 'tls'/.test(cause.message))
    return new AppError(
      'service.unreachable',
      `the NATS server at ${servers} has no TLS: use nats:// for it, without certificates in --creds`,
      { cause },
    );
  const hint =
    cause instanceof TimeoutError
      ? hintForSilence(tls?.certFile !== undefined)
      : 'start one with "stopgate dev", or name yours with --nats';
  return new AppError('service.unreachable', `no NATS server at ${servers}: ${describe(cause)}; ${hint}`, { cause });
}

/**
 * With TLS 1.3 a server refuses a client only after the handshake, and the library does not say why it disconnected.
 */
const hintForSilence = (hasCertificate: boolean) =>
  hasCertificate
    ? 'if a server runs there, it does not answer: check it, or name another with --nats'
    : `if a server runs there, it does not answer or requires a client certificate: check it, name another with --nats, or ${certificateHint}`;

const certificateHint =
  'name the certificate with its key in a file for --creds: { "cert": "client.crt", "key": "client.key" }';

/** Node 20 refuses link-local addresses; newer versions use the first interface and get no reply for minutes. */
const linkLocalFault = (servers: string): AppError =>
  new AppError(
    'service.unreachable',
    `cannot connect to ${servers}: a link-local address needs an interface, which a NATS URL cannot name; use the server's host name or another address of it`,
  );

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
