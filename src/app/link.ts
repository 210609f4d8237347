/**
 * The connections that all fleets of a process share: one for requests, answers and discovery, and one for the logs.
 * Two, because a server with a full disk may stop reading from a connection that stores entries (nats-server 2.9), and
 * our answers would be stuck.
 */
import { nameTaken } from '../host/maintenance/membership.ts';
import type { HistorySource } from '../inspector/history/history-process.ts';
import type { Logger } from '../log.ts';
import { type Bus, createBus } from '../nats/bus.ts';
import {
  type ConnectionOptions,
  type NatsConnection,
  openConnection,
  rejectOnPermissionViolation,
} from '../nats/connection.ts';
import { newId } from '../nats/id.ts';
import { openRequestServer, type RequestServer } from '../nats/request-server.ts';

/** Maximum open requests per fleet. Each holds a few KB, so this is about 100 MB. */
export const openRequestsMax = 10_000;
/** Maximum open requests of all fleets, including queued ones, so that one full fleet leaves capacity for others. */
export const receivedRequestsMax = 2 * openRequestsMax;

export type LinkOptions = {
  readonly nats: string;
  readonly creds?: string | undefined;
  readonly inboxPrefix?: string | undefined;
  /** The name of this process's replica in every fleet. */
  readonly name: string;
  readonly version: string;
  readonly replyPrefixes?: readonly string[];
  readonly logger: Logger;
  /** Called for each request that is refused because too many are open. */
  readonly onFull?: () => void;
  /** Called whenever one of the two connections breaks. */
  readonly onBroken?: (connection: ConnectionName) => void;
  /** Default: TCP or WebSocket, depending on the URL. */
  readonly connect?: ConnectionOptions['connect'];
};

export type Link = {
  readonly name: string;
  readonly nc: NatsConnection;
  /** For JetStream only. */
  readonly logNc: NatsConnection;
  readonly bus: Bus;
  readonly requests: RequestServer;
  /** Rejects when the server forbids something to the service. @throws AppError input.unauthorized */
  readonly forbidden: Promise<never>;
  /** The connection settings for the inspector's history process. */
  readonly source: Omit<HistorySource, 'fleet'>;
  /** Flushes and closes both connections. */
  close(): Promise<void>;
};

const forbiddenHint =
  'name credentials of the service with --creds or in --nats; "stopgate permissions" prints what they need';

/** @throws AppError service.unreachable, replica.running */
export async function openLink({ nats, creds, inboxPrefix, name, version, ...options }: LinkOptions): Promise<Link> {
  const { replyPrefixes = [], logger, connect, onFull = () => {}, onBroken = () => {} } = options;
  const open = (client: string) =>
    openConnection({
      url: nats,
      credsFile: creds,
      inboxPrefix,
      name: client,
      patient: true,
      onFault: (err, subject) => logger.error({ err, subject }, 'a message could not be handled'),
      connect,
    });
  const nc = await open(`stopgate ${name}`);
  const logNc = await open(`stopgate ${name} log`).catch(async (error: unknown) => {
    await nc.close();
    throw error;
  });
  for (const [connection, watched] of [['requests', nc] as const, ['log', logNc] as const])
    void reportBreaks(watched, logger.child({ connection }), () => onBroken(connection));
  const forbidden = Promise.race([nc, logNc].map((each) => rejectOnPermissionViolation(each, forbiddenHint)));
  forbidden.catch(() => undefined); // only awaited during the start
  if (creds === undefined && !nats.includes('@') && !nc.info?.auth_required) {
    const hint =
      'any client can pose as any other, including the service; "stopgate permissions" prints users and permissions for it';
    logger.warn({ nats: nc.getServer() }, `this NATS server requires no credentials: ${hint}`);
  }
  const bus = createBus(nc, logNc, replyPrefixes);
  const serve = () =>
    openRequestServer({
      nc,
      service: { name: 'stopgate', description: 'answers whether a coding agent may stop', group: 'stopgate' },
      id: name,
      version,
      openMax: receivedRequestsMax,
      onFull,
      log: logger,
    });
  const requests = await serveAs(name, nc, bus, serve).catch(async (error: unknown) => {
    await Promise.all([nc.close(), logNc.close()]);
    throw error;
  });
  return {
    name,
    nc,
    logNc,
    forbidden,
    requests,
    bus,
    source: { url: nats, credsFile: creds, inboxPrefix },
    async close() {
      requests.close();
      for (const each of [logNc, nc]) await each.drain().catch(() => each.close());
    },
  };
}

/** Names of the two connections, in logs and metrics. */
export const connectionNames = ['requests', 'log'] as const;
export type ConnectionName = (typeof connectionNames)[number];

/** Logs broken and restored connections. nats.js reconnects automatically, but callers must repeat lost requests. */
async function reportBreaks(nc: NatsConnection, logger: Logger, onBroken: () => void): Promise<void> {
  let brokenMs: number | null = null;
  for await (const { type } of nc.status()) {
    if (type === 'disconnect') {
      brokenMs ??= performance.now();
      onBroken();
      logger.warn('the connection to NATS broke; reconnecting');
    }
    if (type !== 'reconnect' || brokenMs === null) continue;
    logger.info({ afterMs: Math.round(performance.now() - brokenMs) }, 'connected to NATS again');
    brokenMs = null;
  }
}

const claimTriesMax = 10;
const claimAgainMsMax = 500;

/**
 * Serves under a name that no other replica uses, because replicas ping each other by name.
 *
 * Two replicas that start at the same moment do not find each other by a ping. So each one subscribes to claims,
 * publishes its own claim, pings the name, and only then serves. The one that subscribes first receives the other's
 * claim or answers its ping. After receiving another's claim, it withdraws and retries after a random delay.
 * @throws AppError replica.running
 */
async function serveAs(name: string, nc: NatsConnection, bus: Bus, serve: () => RequestServer): Promise<RequestServer> {
  for (let tries = 0; tries < claimTriesMax; tries += 1) {
    const claim = newId();
    let isContested = false;
    const claims = bus.subscribe(claimSubject(name), (_subject, other) => {
      if (other !== claim) isContested = true;
    });
    try {
      bus.publish(claimSubject(name), claim);
      if ((await bus.ping(name)) === 'alive') break;
      const requests = serve();
      await nc.flush();
      if (!isContested) return requests;
      requests.close();
    } finally {
      claims.close();
    }
    await new Promise((done) => setTimeout(done, Math.random() * claimAgainMsMax));
  }
  throw nameTaken(name);
}

/**
 * Next to the heartbeats (protocol.md §2). No agent may publish there, no stream captures it, and `$` is not a fleet
 * name.
 */
const claimSubject = (name: string) => `stopgate.$.alive.${name}`;
