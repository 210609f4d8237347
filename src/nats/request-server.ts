/**
 * Serves requests in a queue group, discoverable by the NATS micro protocol (`$SRV.PING|INFO|STATS`, ADR-32), so that
 * `nats micro ls` and `nats req` work. We do not use the library's micro service because it generates instance ids, and
 * ours must be the replica's name: if `$SRV.PING.stopgate.<replica>` has no responder, that replica is gone.
 */
import { headers, type Msg, type MsgHdrs, type NatsConnection, type Subscription } from '@nats-io/nats-core';
import { AppError, errorBody, errorCodes } from '../errors.ts';
import type { Logger } from '../log.ts';
import { inTraceOf, isTracing } from '../telemetry/tracing.ts';
import { startedHeader } from './bus.ts';
import { replySubjectOf, subscribe } from './connection.ts';
import { createFairQueue } from './fair-queue.ts';
import { createHeaderReader } from './message-headers.ts';

/** `tail`: the subject tokens after the endpoint's subject. `bytes`: size of the payload. */
export type Request = {
  readonly tail: string;
  readonly text: string;
  readonly bytes: number;
  /** Announces to the requester, if it asked for this, that the work has begun. The reply follows. */
  readonly started: () => void;
};
/** Objects are sent as JSON. */
export type Reply = object | string | Uint8Array;
/** Sends the reply; call it once. Errors other than AppErrors are sent as internal errors. Never throws. */
type Respond = (reply: Reply | Error) => void;
export type Endpoint = {
  readonly name: string;
  /** Subscribes to `<subject>.>`, so that a malformed id gets a reply too; with `exact`, to `subject` itself. */
  readonly subject: string;
  readonly exact?: boolean;
  /** Must call `respond`, now or later, or throw. */
  readonly handle: (request: Request, respond: Respond) => void;
  /** Extra data for `$SRV.STATS`. */
  readonly data?: () => object;
};
/** Adapts a handler that returns a promise. */
export const replyLater =
  (reply: (request: Request) => Promise<Reply>): Endpoint['handle'] =>
  (request, respond) =>
    void reply(request).then(respond, respond);

/** Name and description for NATS micro. `group`: the queue group. */
type MicroService = { readonly name: string; readonly description: string; readonly group: string };
export type OnAnswer = (endpoint: string, status: number, tookMs: number) => void;
type RequestServerOptions = {
  readonly nc: NatsConnection;
  readonly service: MicroService;
  readonly id: string;
  readonly version: string;
  /** Maximum number of unanswered requests. Further ones are refused unread. Default: no limit. */
  readonly openMax?: number;
  /** Called for each request refused because of `openMax`. */
  readonly onFull?: () => void;
  readonly log: Logger;
};

type Stats = { requests: number; errors: number; lastError: string; busyNs: number };
type Served = { readonly endpoint: Endpoint; readonly stats: Stats; readonly onAnswer: OnAnswer };
type Received = { readonly served: Served; readonly message: Msg };
/**
 * The requester. The message itself is not retained, because its bytes pin a shared buffer of up to 64 KB, and an agent
 * may wait for minutes. `replyTo` is '' if no reply is wanted.
 */
type Caller = { readonly served: Served; readonly replyTo: string; readonly asksForStart: boolean };

type Serving = {
  /** The subjects that the NATS server denied. Complete after a flush of the connection. */
  refused(): readonly string[];
  close(): void;
};

export type RequestServer = {
  /** Adds endpoints. */
  serve(endpoints: readonly Endpoint[], onAnswer?: OnAnswer): Serving;
  /** Returns the number of unanswered requests. */
  open(): number;
  close(): void;
};

/** Opens one NATS micro service. It is discoverable at once, even before the first endpoint is added. */
export function openRequestServer(options: RequestServerOptions): RequestServer {
  const served = new Set<Served>();
  const { receive, open } = createIntake(options);
  const discovery = serveDiscovery(options, served);
  const servings = new Set<Serving>();
  return {
    serve(endpoints, onAnswer = () => {}) {
      const added = endpoints.map((endpoint) => ({ endpoint, stats: newStats(), onAnswer }));
      const refused: string[] = [];
      const subscriptions = added.map((one) => listen(options, one, receive, refused));
      for (const one of added) served.add(one);
      const serving: Serving = {
        refused: () => refused,
        close() {
          for (const subscription of subscriptions) subscription.unsubscribe();
          for (const one of added) served.delete(one);
          servings.delete(serving);
        },
      };
      servings.add(serving);
      return serving;
    },
    open,
    close() {
      for (const serving of servings) serving.close();
      for (const subscription of discovery) subscription.unsubscribe();
    },
  };
}

const newStats = (): Stats => ({ requests: 0, errors: 0, lastError: '', busyNs: 0 });

/** Handles requests fairly by subject, and so by worker. */
function createIntake(options: RequestServerOptions) {
  const { openMax = Number.POSITIVE_INFINITY, onFull = () => {} } = options;
  const busy = new AppError('service.busy', `${openMax} requests are open, the maximum of this replica`);
  let open = 0;
  const onAnswered = () => {
    open -= 1;
  };
  const queue = createFairQueue<Received>((received) => answer(options, received, onAnswered));
  const receive = (received: Received) => {
    if (open >= openMax) {
      onFull();
      fail(options, callerOf(received, false), busy, performance.now());
      return;
    }
    open += 1;
    queue.push(received.message.subject, received);
  };
  return { receive, open: () => open };
}

function listen(
  options: RequestServerOptions,
  served: Served,
  receive: (received: Received) => void,
  refused: string[],
): Subscription {
  const { endpoint } = served;
  const onRequest = (error: Error | null, message: Msg) => {
    if (error !== null) {
      refused.push(subscriptionOf(endpoint));
      options.log.error({ err: error, endpoint: endpoint.name }, 'requests are not served');
      return;
    }
    receive({ served, message });
  };
  return subscribe(options.nc, subscriptionOf(endpoint), onRequest, options.service.group);
}

const subscriptionOf = ({ subject, exact = false }: Endpoint) => (exact ? subject : `${subject}.>`);

function answer(options: RequestServerOptions, received: Received, onAnswered: () => void): void {
  const { endpoint } = received.served;
  const { message } = received;
  const header = createHeaderReader(message);
  const caller = callerOf(received, header(startedHeader) !== undefined);
  const startedMs = performance.now();
  const respond = respondTo(options, caller, startedMs, onAnswered);
  const request = {
    tail: message.subject.slice(endpoint.subject.length + 1),
    text: message.string(),
    bytes: message.data.length,
    started: caller.asksForStart ? announceStartTo(options, caller) : ignoreStart,
  };
  try {
    if (isTracing()) inTraceOf(header, () => endpoint.handle(request, respond));
    else endpoint.handle(request, respond);
  } catch (error) {
    respond(error as Error);
  }
}

const callerOf = ({ served, message }: Received, asksForStart: boolean): Caller => ({
  served,
  replyTo: replySubjectOf(message),
  asksForStart,
});

// A top-level function, so that the closure does not retain the message.
const respondTo =
  (options: RequestServerOptions, caller: Caller, startedMs: number, onAnswered: () => void): Respond =>
  (reply) => {
    onAnswered();
    if (reply instanceof Error) fail(options, caller, reply, startedMs);
    else send(options, caller, reply, startedMs);
  };

const ignoreStart = () => {};
const announceStartTo = (options: RequestServerOptions, caller: Caller) => () => {
  const h = headers();
  h.set(startedHeader, 'true');
  publishTo(options, caller, '', h);
};

function send(options: RequestServerOptions, caller: Caller, reply: Reply, startedMs: number): void {
  const bytes = toBytes(reply);
  const bytesMax = options.nc.info?.max_payload ?? bytes.length;
  if (bytes.length > bytesMax) {
    const why = `the reply has ${bytes.length} bytes, but this NATS server accepts at most ${bytesMax}; request less, or use HTTP`;
    fail(options, caller, new AppError('payload.large', why), startedMs);
    return;
  }
  publishTo(options, caller, bytes);
  count(caller.served, 200, startedMs);
}

const toBytes = (reply: Reply): Uint8Array =>
  reply instanceof Uint8Array ? reply : Buffer.from(typeof reply === 'string' ? reply : JSON.stringify(reply));

function fail(options: RequestServerOptions, caller: Caller, cause: Error, startedMs: number): void {
  const { endpoint, stats } = caller.served;
  const error =
    cause instanceof AppError
      ? cause
      : new AppError('log.unavailable', 'an internal error; see the log of the service', { cause });
  if (error !== cause) options.log.error({ err: cause, endpoint: endpoint.name }, 'request failed');
  const { status } = errorCodes[error.code];
  stats.errors += 1;
  stats.lastError = `${status}:${error.message}`;
  publishTo(options, caller, JSON.stringify(errorBody(error)), errorHeaders(error, status));
  count(caller.served, status, startedMs);
}

function publishTo({ nc, log }: RequestServerOptions, caller: Caller, data: Uint8Array | string, h?: MsgHdrs): void {
  if (caller.replyTo === '') return;
  try {
    nc.publish(caller.replyTo, data, h === undefined ? undefined : { headers: h });
  } catch (cause) {
    // The connection was closed in the meantime.
    log.warn({ err: cause, endpoint: caller.served.endpoint.name }, 'answer not sent');
  }
}

function count({ endpoint, stats, onAnswer }: Served, status: number, startedMs: number): void {
  const tookMs = performance.now() - startedMs;
  stats.requests += 1;
  stats.busyNs += Math.round(tookMs * 1e6);
  onAnswer(endpoint.name, status, tookMs);
}

function errorHeaders(error: AppError, status: number): MsgHdrs {
  const h = headers();
  h.set('Nats-Service-Error-Code', String(status));
  // A header is one line, and the message may quote the request: remove line breaks and terminal escapes.
  h.set('Nats-Service-Error', error.message.replace(/\p{Cc}+/gu, ' ').slice(0, 500));
  const { retryAfterMs } = error;
  if (retryAfterMs !== null) h.set('Retry-After', String(Math.ceil(retryAfterMs / 1_000)));
  return h;
}

function serveDiscovery(
  { nc, service: { name, description, group }, id, version }: RequestServerOptions,
  served: ReadonlySet<Served>,
): Subscription[] {
  const started = new Date().toISOString();
  const service = { name, id, version, metadata: {} };
  const describe = (endpoint: Endpoint) => ({
    name: endpoint.name,
    subject: subscriptionOf(endpoint),
    queue_group: group,
  });
  const replies: Record<string, () => object> = {
    PING: () => ({ type: 'io.nats.micro.v1.ping_response', ...service }),
    INFO: () => ({
      type: 'io.nats.micro.v1.info_response',
      ...service,
      description,
      endpoints: [...served].map(({ endpoint }) => ({ ...describe(endpoint), metadata: {} })),
    }),
    STATS: () => ({
      type: 'io.nats.micro.v1.stats_response',
      ...service,
      started,
      endpoints: [...served].map(({ endpoint, stats }) => ({
        ...describe(endpoint),
        ...countsOf(stats),
        ...(endpoint.data === undefined ? {} : { data: endpoint.data() }),
      })),
    }),
  };
  return Object.entries(replies).flatMap(([verb, reply]) =>
    [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`].map((subject) =>
      subscribe(nc, subject, (refused, message) => {
        if (refused === null && replySubjectOf(message) !== '') message.respond(JSON.stringify(reply()));
      }),
    ),
  );
}

/** NATS micro counts time in nanoseconds. */
const countsOf = ({ requests, errors, lastError, busyNs }: Stats) => ({
  num_requests: requests,
  num_errors: errors,
  last_error: lastError,
  processing_time: busyNs,
  average_processing_time: requests === 0 ? 0 : Math.round(busyNs / requests),
});
