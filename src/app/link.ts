/**
 * The connections that all fleets of a process share: one for requests, answers and discovery, and one for the logs. A server
 * whose disk is full may read nothing more from a connection that asks it to store something (nats-server 2.9), and no
 * answer would get out of it.
 */
import { nameTaken } from '../host/maintenance/membership.ts';
import type { HistorySource } from '../inspector/history/history-process.ts';
import type { Logger } from '../log.ts';
import { type Bus, createBus } from '../nats/bus.ts';
import { type ConnectionOptions, type NatsConnection, openConnection, rejectForbidden } from '../nats/connection.ts';
import { newId } from '../nats/id.ts';
import { openRequestServer, type RequestServer } from '../nats/request-server.ts';

/** Attempts and entries of a fleet that wait for the log or a check: each holds some KB, so some 100 MB at the most. */
export const openRequestsMax = 10_000;
/** Requests of all fleets, with those that were not begun yet: where one fleet has all it may, there is room for others. */
export const receivedRequestsMax = 2 * openRequestsMax;

export type LinkOptions = {
  readonly nats: string;
  readonly creds?: string | undefined;
  readonly inboxPrefix?: string | undefined;
  /** The name of the replica, which is the same in every fleet. */
  readonly name: string;
  readonly version: string;
  readonly replyPrefixes?: readonly string[];
  readonly logger: Logger;
  /** Called for each request that is refused because too many are open. */
  readonly onFull?: () => void;
  /** Called whenever one of the two connections broke. */
  readonly onBroken?: (connection: ConnectionName) => void;
  /** Default: over TCP or a WebSocket, as the URL says. */
  readonly connect?: ConnectionOptions['connect'];
};

export type Link = {
  readonly name: string;
  readonly nc: NatsConnection;
  /** For JetStream alone. */
  readonly logNc: NatsConnection;
  readonly bus: Bus;
  readonly requests: RequestServer;
  /** Rejects once the server forbids something to the service. @throws AppError input.unauthorized */
  readonly forbidden: Promise<never>;
  /** The inspector's own process connects by this. */
  readonly source: Omit<HistorySource, 'fleet'>;
  /** Sends what was published, and closes the connection. */
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
  for (const [connection, it] of [['requests', nc] as const, ['log', logNc] as const])
    void tellBreaks(it, logger.child({ connection }), () => onBroken(connection));
  const forbidden = Promise.race([nc, logNc].map((it) => rejectForbidden(it, forbiddenHint)));
  forbidden.catch(() => undefined); // of interest at the start only
  if (creds === undefined && !nats.includes('@') && !nc.info?.auth_required) {
    const hint = 'any client can pose as any other, including the service; give it users and permissions';
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
      for (const it of [logNc, nc]) await it.drain().catch(() => it.close());
    },
  };
}

/** The names of the two connections: NATS servers close one that does not read what they have sent it. */
export const connectionNames = ['requests', 'log'] as const;
export type ConnectionName = (typeof connectionNames)[number];

/** It reconnects by itself; who watches the service must know, since requests that were on their way are asked again. */
async function tellBreaks(nc: NatsConnection, logger: Logger, onBroken: () => void): Promise<void> {
  let brokenMs: number | null = null;
  for await (const { type } of nc.status()) {
    if (type === 'disconnect') {
      brokenMs ??= performance.now();
      onBroken();
      logger.warn('the connection to NATS broke; it is made again');
    }
    if (type !== 'reconnect' || brokenMs === null) continue;
    logger.info({ afterMs: Math.round(performance.now() - brokenMs) }, 'connected to NATS again');
    brokenMs = null;
  }
}

const claimTriesMax = 10;
const claimAgainMsMax = 500;

/**
 * Serves under a name that nobody else serves under: others ask for a replica by its name whether it lives.
 *
 * Of two that start at one moment neither is found by the other's ping. So each listens for claims, then makes its own,
 * then asks, and only then can be found. Whichever listens first hears the other's claim, or is found by it; and who has
 * heard a claim tries again a while later.
 * @throws AppError replica.running
 */
async function serveAs(name: string, nc: NatsConnection, bus: Bus, serve: () => RequestServer): Promise<RequestServer> {
  for (let tries = 0; tries < claimTriesMax; tries += 1) {
    const claim = newId();
    let isContested = false;
    const claims = bus.listen(claimSubject(name), (_subject, other) => {
      if (other !== claim) isContested = true;
    });
    try {
      bus.tell(claimSubject(name), claim);
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

/** Beside the beats (protocol.md §2): no agent can publish there, no stream captures it, and no fleet has this name. */
const claimSubject = (name: string) => `stopgate.$.alive.${name}`;
