/**
 * Everything that a replica sends over NATS apart from the log: replies to inboxes, and requests to other processes.
 */
import { headers, type Msg, type NatsConnection, RequestError } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import { traceHeaders } from '../telemetry/tracing.ts';
import { startTimer } from '../timer.ts';
import { isReplySubject, newInbox, payloadBytesMaxOf, subscribe, withReplyTimeout } from './connection.ts';
import { createHeaderReader, statusOf } from './message-headers.ts';
import { type ConnectionState, type Reachability, reachabilityOf } from './reachability.ts';

export type Bus = Reachability & {
  /**
   * Flushes the log's connection, so that all log messages sent so far are handled.
   * @returns false if that takes longer than 1 s
   */
  flushLog(): Promise<boolean>;
  /** What the connections know about the server. */
  server(): ServerState;
  /** The server's `max_payload`, in bytes. */
  payloadBytesMax(): number;
  /** Publishes a reply to a client's inbox. @returns false if the subject is not an inbox */
  reply(inbox: string, payload: string | Uint8Array): boolean;
  /** Publishes a message outside the log. */
  publish(subject: string, payload: string): void;
  /** Subscribes to a subject; wildcards allowed. */
  subscribe(subject: string, onMessage: (subject: string, text: string) => void): { close(): void };
  /** `gone`: no responder. `silent`: no reply in time. */
  ping(replica: string): Promise<'alive' | 'silent' | 'gone'>;
  /**
   * @throws AppError service.unreachable if there is no responder or no reply in time; check.failed if it replies an
   * error
   */
  request(subject: string, payload: string, timeoutMs: number): Promise<string>;
  /**
   * Like `request`, but asks the responder to announce its start by an extra reply with the header `Stopgate-Started`.
   * @throws AppError as `request`
   */
  requestRun(subject: string, payload: string, timeouts: RunTimeouts): Promise<string>;
};

/** Fields are null if unknown. `address` contains no credentials. */
export type ServerState = {
  readonly address: string | null;
  readonly name: string | null;
  readonly version: string | null;
  readonly connections: readonly ({ readonly name: 'requests' | 'log' } & ConnectionState)[];
};

type RunTimeouts = {
  /** How long the responder may take to start. */
  readonly startTimeoutMs: number;
  /** How long it may take from there to reply. */
  readonly timeoutMs: number;
  readonly onStarted: () => void;
};
export const startedHeader = 'Stopgate-Started';

const builtInPrefixes = ['_INBOX.', '_R_.'];

const pingTimeoutMs = 1_000;
const flushTimeoutMs = 1_000;
/** If more messages arrive during a flush, the flush is slow because of a backlog and not because of the connection. */
const backlogMessages = 1_000;

/** @param logNc the log's connection, used by `flushLog`; `isConnected` is about both */
export function createBus(nc: NatsConnection, logNc: NatsConnection, replyPrefixes: readonly string[]): Bus {
  const prefixes = [...builtInPrefixes, ...replyPrefixes];
  const both = [reachabilityOf(nc), reachabilityOf(logNc)];
  const isConnected = () => both.every((connection) => connection.isConnected());
  let flushing: Promise<boolean> | null = null;
  const flushLog = async () => {
    const before = logNc.stats().inMsgs;
    try {
      await withReplyTimeout(logNc.flush(), flushTimeoutMs);
      return true;
    } catch {
      // A server that cannot write to its disk stops reading from connections that published to the stream, even when
      // there is space again. Only a new connection helps.
      const isBacklog = logNc.stats().inMsgs - before > backlogMessages;
      if (!isBacklog && isConnected()) void logNc.reconnect().catch(() => {});
      return false;
    }
  };
  return {
    isConnected,
    async connected(timeoutMs) {
      const found = await Promise.all(both.map((connection) => connection.connected(timeoutMs)));
      return found.every((isUp) => isUp);
    },
    async flushLog() {
      if (!isConnected()) return false;
      flushing ??= flushLog().finally(() => {
        flushing = null;
      });
      return flushing;
    },
    server: () => ({
      address: nc.isClosed() ? null : nc.getServer(),
      name: nc.info?.server_name ?? null,
      version: nc.info?.version ?? null,
      connections: [
        { name: 'requests', ...reachabilityOf(nc).state() },
        { name: 'log', ...reachabilityOf(logNc).state() },
      ],
    }),
    payloadBytesMax: () => payloadBytesMaxOf(nc),
    reply(inbox, payload) {
      if (!prefixes.some((prefix) => inbox.startsWith(prefix)) || !isReplySubject(inbox)) return false;
      try {
        nc.publish(inbox, payload);
      } catch {
        // The connection is closing, or the reply exceeds `max_payload`. The client retries.
      }
      return true;
    },
    publish(subject, payload) {
      if (nc.isClosed()) return;
      nc.publish(subject, payload);
    },
    subscribe(subject, onMessage) {
      const subscription = subscribe(nc, subject, (error, message) => {
        if (error === null) onMessage(message.subject, message.string());
      });
      return { close: () => subscription.unsubscribe() };
    },
    async ping(replica) {
      try {
        await nc.request(`$SRV.PING.stopgate.${replica}`, '', { timeout: pingTimeoutMs });
        return 'alive';
      } catch (cause) {
        return isNoResponder(cause) ? 'gone' : 'silent';
      }
    },
    requestRun: (subject, payload, timeouts) => request(nc, subject, payload, timeouts),
    request: (subject, payload, timeoutMs) => request(nc, subject, payload, { timeoutMs }),
  };
}

/** @throws AppError check.failed if the reply is an error */
function readReply(reply: Msg): string {
  const header = createHeaderReader(reply);
  if (header('Nats-Service-Error-Code') !== undefined)
    throw new AppError('check.failed', header('Nats-Service-Error') ?? 'unknown error');
  return reply.string();
}

/**
 * Requests with its own subscription instead of the library's `request`, which parses headers itself: a malformed
 * header would stop the library from reading the connection. Anyone may have written the reply.
 * @param timeouts with `onStarted`, the responder is asked to announce its start
 */
function request(
  nc: NatsConnection,
  subject: string,
  payload: string,
  timeouts: RunTimeouts | Pick<RunTimeouts, 'timeoutMs'>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const inbox = newInbox(nc);
    const end = (settle: () => void) => {
      timer.clear();
      subscription.unsubscribe();
      settle();
    };
    const fail = (why: string, cause?: unknown) =>
      end(() => reject(new AppError('service.unreachable', why, { cause })));
    const giveUpAfter = (ms: number) => startTimer(ms, () => fail(`no reply from ${subject} within ${ms} ms`));
    const onReply = (error: Error | null, message: Msg) => {
      if (error !== null) fail(`cannot send a request to ${subject}`, error);
      else if (message.data.length === 0 && statusOf(message) === 503) fail(`nobody serves ${subject}`);
      else if ('onStarted' in timeouts && createHeaderReader(message)(startedHeader) !== undefined) {
        timer.clear();
        timer = giveUpAfter(timeouts.timeoutMs);
        timeouts.onStarted();
      } else
        end(() => {
          try {
            resolve(readReply(message));
          } catch (failure) {
            reject(failure);
          }
        });
    };
    const subscription = subscribe(nc, inbox, onReply);
    void subscription.closed.then(() => fail('the connection to NATS was closed')); // no effect after a reply
    let timer = giveUpAfter('onStarted' in timeouts ? timeouts.startTimeoutMs : timeouts.timeoutMs);
    try {
      const h = headers();
      for (const [name, value] of Object.entries(traceHeaders())) h.set(name, value);
      // Without this header, the responder sends a single reply.
      if ('onStarted' in timeouts) h.set(startedHeader, 'wanted');
      nc.publish(subject, payload, { reply: inbox, headers: h });
    } catch (cause) {
      fail(`cannot send a request to ${subject}`, cause);
    }
  });
}

const isNoResponder = (cause: unknown) => cause instanceof RequestError && cause.isNoResponders();
