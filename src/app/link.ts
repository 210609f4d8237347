/** The connection that all fleets of a process share, with what is the process's own on it: inboxes and discovery. */
import { nameTaken } from '../host/membership.ts';
import type { HistorySource } from '../inspector/history/work.ts';
import type { Logger } from '../log.ts';
import { type Bus, createBus } from '../nats/bus.ts';
import { type ConnectionOptions, type NatsConnection, openConnection, rejectForbidden } from '../nats/connection.ts';
import { openRequestServer, type RequestServer } from '../nats/request-server.ts';

/** Attempts and entries that wait for the log or a check: each holds some KB, so some 100 MB at the most. */
export const openRequestsMax = 10_000;

export type LinkOptions = {
  readonly nats: string;
  readonly creds?: string | undefined;
  readonly inboxPrefix?: string | undefined;
  /** Of the replica: the same in every fleet. */
  readonly name: string;
  readonly version: string;
  readonly replyPrefixes?: readonly string[];
  readonly logger: Logger;
  /** Default: over TCP. */
  readonly connect?: ConnectionOptions['connect'];
};

export type Link = {
  readonly name: string;
  readonly nc: NatsConnection;
  readonly bus: Bus;
  readonly requests: RequestServer;
  /** Rejects once the server forbids something to the service. @throws AppError input.unauthorized */
  readonly forbidden: Promise<never>;
  /** How the inspector's thread connects. */
  readonly source: Omit<HistorySource, 'fleet'>;
  /** Sends what was published, and closes the connection. */
  close(): Promise<void>;
};

const forbiddenHint =
  'name credentials of the service with --creds or in --nats; "stopgate permissions" prints what they need';

/** @throws AppError service.unreachable, replica.running */
export async function openLink({ nats, creds, inboxPrefix, name, version, ...options }: LinkOptions): Promise<Link> {
  const { replyPrefixes = [], logger, connect } = options;
  const nc = await openConnection({
    ...{ url: nats, credsFile: creds, inboxPrefix, name: `stopgate ${name}`, patient: true, connect },
  });
  const forbidden = rejectForbidden(nc, forbiddenHint);
  forbidden.catch(() => undefined); // of interest at the start only
  if (creds === undefined && !nats.includes('@') && !nc.info?.auth_required) {
    const hint = 'anyone who reaches it can act as anyone, the service included; give it users and permissions';
    logger.warn({ nats: nc.getServer() }, `this NATS server asks for no credentials: ${hint}`);
  }
  const bus = createBus(nc, replyPrefixes);
  await refuseTakenName(bus, name).catch(async (error: unknown) => {
    await nc.close();
    throw error;
  });
  const requests = openRequestServer({
    nc,
    service: { name: 'stopgate', description: 'answers whether a coding agent may stop', group: 'stopgate' },
    ...{ id: name, version, openMax: openRequestsMax, log: logger },
  });
  return {
    ...{
      name,
      nc,
      forbidden,
      requests,
      bus,
      source: { url: nats, credsFile: creds, inboxPrefix },
    },
    async close() {
      requests.close();
      await nc.drain().catch(() => nc.close());
    },
  };
}

/** Others ask for a replica by its name whether it lives, so there can be one of each. */
async function refuseTakenName(bus: Bus, name: string): Promise<void> {
  if ((await bus.ping(name)) === 'alive') throw nameTaken(name);
}
