/** Sends what a replica sends over NATS beside its log: answers to inboxes, and requests to other processes. */
import { headers, type Msg, type NatsConnection, NoRespondersError, RequestError } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';
import { traceHeaders } from '../telemetry/tracing.ts';
import { startTimer } from '../timer.ts';
import { answered, isReplySubject, newInbox, subscribe } from './connection.ts';
import { createHeaderReader, statusOf } from './message-headers.ts';
import { type ConnectionState, type Reachability, reachabilityOf } from './reachability.ts';

export type Bus = Reachability & {
  /** Waits until all that the server has sent of the log so far is handled. @returns false: no answer within 1 s */
  isHeard(): Promise<boolean>;
  /** The server as the connections know it; `address` without credentials. */
  server(): ServerState;
  /** The server's limit for one message, in bytes. */
  payloadBytesMax(): number;
  /** Sends an answer to a client's inbox, if it is one. @returns false: that subject is no inbox */
  answer(inbox: string, payload: string | Uint8Array): boolean;
  /** Publishes a message that only current subscribers receive. */
  tell(subject: string, payload: string): void;
  /** Subscribes to what others publish with `tell`; wildcards allowed. */
  listen(subject: string, onMessage: (subject: string, text: string) => void): { close(): void };
  /** `gone`: no subscriber; `silent`: no answer in time. */
  ping(replica: string): Promise<'alive' | 'silent' | 'gone'>;
  /** @throws AppError service.unreachable: no responder, or no reply in time; check.failed: the responder's own error */
  request(subject: string, payload: string, timeoutMs: number): Promise<string>;
  /**
   * A request whose responder may tell that it has begun (a reply with the header `Stopgate-Started`, where the
   * request has it), before its answer. @throws AppError as `request`
   */
  requestRun(subject: string, payload: string, times: RunTimes): Promise<string>;
};

/** `null`: not known. The connections are one for requests and one for the log. */
export type ServerState = {
  readonly address: string | null;
  readonly name: string | null;
  readonly version: string | null;
  readonly connections: readonly ({ readonly name: 'requests' | 'log' } & ConnectionState)[];
};

/** The responder may take this long to begin, and from there to answer. */
type RunTimes = {
  readonly startTimeoutMs: number;
  readonly timeoutMs: number;
  readonly onStarted: () => void;
};
export const startedHeader = 'Stopgate-Started';

const builtInPrefixes = ['_INBOX.', '_R_.'];
/** A NATS server's own default. */
const payloadBytesDefault = 1_048_576;
const pingTimeoutMs = 1_000;
const heardTimeoutMs = 1_000;
/** This many messages may arrive while an answer is awaited: it comes behind them. */
const backlogMessages = 1_000;

/** @param logNc the connection of the log, about which `isHeard` is; `isConnected` needs both */
export function createBus(nc: NatsConnection, logNc: NatsConnection, replyPrefixes: readonly string[]): Bus {
  const prefixes = [...builtInPrefixes, ...replyPrefixes];
  const both = [reachabilityOf(nc), reachabilityOf(logNc)];
  const isConnected = () => both.every((it) => it.isConnected());
  let hearing: Promise<boolean> | null = null;
  const hear = async () => {
    const before = logNc.stats().inMsgs;
    try {
      await answered(logNc.flush(), heardTimeoutMs);
      return true;
    } catch {
      // A server that cannot write to its disk reads no further from a connection that published to the stream: what is
      // sent on it is heard of no more, also when there is space again.
      const isBacklog = logNc.stats().inMsgs - before > backlogMessages;
      if (!isBacklog && isConnected()) void logNc.reconnect().catch(() => {});
      return false;
    }
  };
  return {
    isConnected,
    async connected(timeoutMs) {
      const found = await Promise.all(both.map((it) => it.connected(timeoutMs)));
      return found.every((it) => it);
    },
    async isHeard() {
      if (!isConnected()) return false;
      hearing ??= hear().finally(() => {
        hearing = null;
      });
      return hearing;
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
    payloadBytesMax: () => nc.info?.max_payload ?? payloadBytesDefault,
    answer(inbox, payload) {
      if (!prefixes.some((prefix) => inbox.startsWith(prefix)) || !isReplySubject(inbox)) return false;
      try {
        nc.publish(inbox, payload);
      } catch {
        // The connection is closing, or the answer is larger than the server allows: the client tries again.
      }
      return true;
    },
    tell(subject, payload) {
      if (nc.isClosed()) return;
      nc.publish(subject, payload);
    },
    listen(subject, onMessage) {
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
    requestRun: (subject, payload, times) => request(nc, subject, payload, times),
    request: (subject, payload, timeoutMs) => request(nc, subject, payload, { timeoutMs }),
  };
}

/** @throws AppError check.failed: the responder answered with an error */
function readReply(reply: Msg): string {
  const header = createHeaderReader(reply);
  if (header('Nats-Service-Error-Code') !== undefined)
    throw new AppError('check.failed', header('Nats-Service-Error') ?? 'unknown error');
  return reply.string();
}

/**
 * A request whose reply anybody may have written. It has a subscription of its own, because the library parses the headers
 * of a reply itself, where a malformed one ends the reading of the connection.
 * @param times with `onStarted` the responder is asked to say that it has begun
 */
function request(
  nc: NatsConnection,
  subject: string,
  payload: string,
  times: RunTimes | Pick<RunTimes, 'timeoutMs'>,
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
      if (error !== null) fail(`${subject} could not be asked`, error);
      else if (message.data.length === 0 && statusOf(message) === 503) fail(`nobody serves ${subject}`);
      else if ('onStarted' in times && createHeaderReader(message)(startedHeader) !== undefined) {
        timer.clear();
        timer = giveUpAfter(times.timeoutMs);
        times.onStarted();
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
    void subscription.closed.then(() => fail('the connection to NATS was closed')); // or the answer has come
    let timer = giveUpAfter('onStarted' in times ? times.startTimeoutMs : times.timeoutMs);
    try {
      const h = headers();
      for (const [name, value] of Object.entries(traceHeaders())) h.set(name, value);
      // A client that does not ask for it gets one reply, the answer.
      if ('onStarted' in times) h.set(startedHeader, 'wanted');
      nc.publish(subject, payload, { reply: inbox, headers: h });
    } catch (cause) {
      fail(`${subject} could not be asked`, cause);
    }
  });
}

const isNoResponder = (cause: unknown) => cause instanceof RequestError && cause.isNoResponders();

// Finds out which runners nobody serves, without sending them anything: a runner of one's own may work on all it gets.

/**
 * @returns those of `names` that nobody serves, or that cannot be discovered (NATS micro, ADR-32). Null: NATS did not
 *   answer, so it is not known.
 */
export type RunnerSearch = (names: readonly string[]) => Promise<readonly string[] | null>;

/** A readiness probe comes every few seconds, from several load balancers. */
const keptMs = 10_000;
/** A probe waits for this, so it is shorter than the timeouts of load balancers. */
const answerMs = 500;
const runnersMax = 1_000;

export function createRunnerSearch(nc: NatsConnection, fleet: string): RunnerSearch {
  let last = { key: '', atMs: 0, missing: Promise.resolve<readonly string[] | null>([]) };
  return (names) => {
    if (names.length === 0) return Promise.resolve([]);
    const [key, nowMs] = [names.join(), performance.now()];
    if (last.key !== key || nowMs - last.atMs > keptMs) last = { key, atMs: nowMs, missing: search(nc, fleet, names) };
    return last.missing;
  };
}

async function search(nc: NatsConnection, fleet: string, names: readonly string[]): Promise<readonly string[] | null> {
  const found = new Set<string>();
  const missing = () => names.filter((name) => !found.has(`stopgate.${fleet}.run.${name}`));
  try {
    const infos = await nc.requestMany('$SRV.INFO.stopgate-runner', '', {
      strategy: 'count',
      maxWait: answerMs,
      maxMessages: runnersMax,
    });
    for await (const info of infos) {
      for (const { subject } of info.json<{ endpoints: { subject: string }[] }>().endpoints) found.add(subject);
      if (missing().length === 0) break;
    }
  } catch (cause) {
    return cause instanceof NoRespondersError ? missing() : null;
  }
  return found.size === 0 ? null : missing();
}
