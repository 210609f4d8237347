/** Replica: one running copy of the service on a NATS server. Wires connection, log, host, service and requests. */

import type { HostMetrics } from '../host/context.ts';
import { createHost, type Host } from '../host/host.ts';
import type { EscalationRules } from '../host/notice.ts';
import type { PolicyForm } from '../host/policy-publisher.ts';
import type { RunCheck } from '../host/run-request.ts';
import { createInspection, type Inspection } from '../inspector/index.ts';
import type { Logger } from '../log.ts';
import { createBus } from '../nats/bus.ts';
import { type NatsConnection, openConnection } from '../nats/connection.ts';
import { type EventLog, openEventLog } from '../nats/event-log.ts';
import { newId } from '../nats/id.ts';
import { serveRequests } from '../nats/request-server.ts';
import { createEndpoints, createService, type Service } from '../service/index.ts';

export type ReplicaOptions = {
  readonly nats: string;
  readonly creds?: string | undefined;
  readonly inboxPrefix?: string | undefined;
  readonly fleet: string;
  readonly name: string;
  readonly version: string;
  /** Null: the log's policies stay as they are. */
  readonly policies: PolicyForm | null;
  /** Default: one notice of each escalation, in the service's own log. */
  readonly escalation?: EscalationRules;
  readonly runCheck: RunCheck;
  readonly logger: Logger;
  readonly metrics: HostMetrics & { readonly answered: (endpoint: string, status: number, tookMs: number) => void };
  readonly acceptEmptyLog?: boolean;
  readonly streamReplicas?: number;
  readonly replyPrefixes?: readonly string[];
  /** More open requests than these get 503. Default 10,000. */
  readonly openRequestsMax?: number;
};

export type Replica = {
  readonly service: Service;
  readonly inspection: Inspection;
  setPolicies(form: PolicyForm): void;
  setEscalation(rules: EscalationRules): void;
  /** Fires when the connection is closed for good, or the fold has failed. */
  readonly closed: Promise<unknown>;
  /** Leaves the fleet, answers what is decided meanwhile, and closes the connection. */
  close(): Promise<void>;
};

/** An attempt that the log does not deliver within this time gets 503: less than the timeout of common NATS clients. */
const entryTimeoutMs = 1_500;
const openRequestsMaxDefault = 10_000;

/** @throws AppError service.unreachable, log.unavailable, log.lost, stream.foreign */
export async function openReplica(options: ReplicaOptions): Promise<Replica> {
  const nc = await openConnection({
    url: options.nats,
    credsFile: options.creds,
    inboxPrefix: options.inboxPrefix,
    name: `stopgate ${options.name}`,
    patient: true,
  });
  if (options.creds === undefined && !nc.info?.auth_required) {
    const hint = 'anyone who reaches it can act as anyone, the service included; give it users and permissions';
    options.logger.warn({ nats: nc.getServer() }, `this NATS server asks for no credentials: ${hint}`);
  }
  try {
    return await startReplica(nc, options);
  } catch (error) {
    await nc.close();
    throw error;
  }
}

async function startReplica(nc: NatsConnection, options: ReplicaOptions): Promise<Replica> {
  const { name, logger, metrics } = options;
  const { acceptEmptyLog = false, streamReplicas: replicas = 1 } = options;
  const log = await openEventLog({ nc, fleet: options.fleet, replicas, acceptEmptyLog, log: logger });
  const { host, broken } = makeHost(nc, log, options);
  await host.start();
  const service = createService(host, log, name);
  const source = { url: options.nats, credsFile: options.creds, inboxPrefix: options.inboxPrefix };
  const inspection = createInspection(host, log, logger, source);
  const requests = serveRequests({
    nc,
    service: { name: 'stopgate', description: 'answers whether a coding agent may stop', group: 'stopgate' },
    id: name,
    version: options.version,
    endpoints: createEndpoints(service),
    onAnswer: metrics.answered,
    log: logger,
  });
  await nc.flush();
  return {
    service,
    inspection,
    setPolicies: host.setPolicies,
    setEscalation: host.setEscalation,
    closed: Promise.race([nc.closed(), broken]),
    async close() {
      const ended = inspection.close();
      requests.close();
      await host.close();
      await ended;
      await nc.drain().catch(() => nc.close());
    },
  };
}

function makeHost(nc: NatsConnection, log: EventLog, options: ReplicaOptions): { host: Host; broken: Promise<void> } {
  const { fleet, name: replica, runCheck, logger, metrics, policies, escalation } = options;
  let onBroken = () => {};
  const broken = new Promise<void>((done) => {
    onBroken = done;
  });
  const host = createHost({
    ...{ fleet, replica, log, runCheck, logger, metrics, newId, entryTimeoutMs, onBroken },
    bus: createBus(nc, options.replyPrefixes ?? []),
    clock: Date.now,
    openRequestsMax: options.openRequestsMax ?? openRequestsMaxDefault,
  });
  if (policies !== null) host.setPolicies(policies);
  if (escalation !== undefined) host.setEscalation(escalation);
  return { host, broken };
}
